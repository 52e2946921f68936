import type { Config } from '../../config/config.ts';
import { rulesInForce } from '../../config/permission-rules.ts';
import type { RuleLocation } from '../../core/records/policy.ts';
import { ruleLabel } from '../../govern/policy/rule-set.ts';

/** Finds the place of a rule by its name in a decision: `permissions.deny: mcp__x`, `mode guarded`, … */
export type LocateRule = (rule: string) => RuleLocation | undefined;

/** Reads where each rule of a configuration is written. Rules that no file has, such as `built-in`, have no place. */
export async function ruleLocations(config: Config): Promise<LocateRule> {
  const written = new Map<string, RuleLocation>();
  for (const { key, rule, file, line } of await rulesInForce(config)) {
    if (file === undefined || line === undefined) continue;
    for (const name of [`${key}: ${rule}`, key]) if (!written.has(name)) written.set(name, { file, line });
  }
  for (const { name, at } of config.policies ?? []) {
    const key = ruleLabel(name);
    if (!written.has(key)) written.set(key, { file: at.file, line: at.line });
  }
  return function locate(rule) {
    const known = written.get(rule);
    if (known) return known;
    const [key = rule] = rule.split(': ');
    const origin = config.origins.get(key.startsWith('mode ') ? 'mode' : key) ?? originOfProfile(config, key);
    return origin && { file: origin.at.file, line: origin.at.line };
  };
}

const originOfProfile = ({ origins }: Config, key: string) =>
  key.startsWith('profiles.') ? origins.get('profiles') : undefined;
