import type { Catalog } from '../../catalog/catalog.ts';
import type { Finding } from '../../core/records/finding.ts';
import { type KnownNames, unmatchedRule } from '../../core/text/unmatched-rule.ts';
import { allowsTools } from '../../govern/policy/match.ts';
import type { ActiveConfig } from '../active-config.ts';

/** Reports the rules that match nothing known: each has no effect. */
export function examineRules(
  { config, policy }: Pick<ActiveConfig, 'config' | 'policy'>,
  { targets, prompts }: Pick<Catalog, 'targets' | 'prompts'>,
): readonly Finding[] {
  const { permissions, policies, approvals } = config.settings;
  const known: KnownNames = { groups: [...(policy.groups ?? [])], tools: [...targets, ...prompts.targets] };
  const written = [
    ...Object.entries(permissions).flatMap(([effect, rules]) =>
      rules.map((rule) => ({ rule, in: `permissions.${effect}` })),
    ),
    ...policies.flatMap(({ name, tools = [] }) => tools.map((rule) => ({ rule, in: `the policy ${name}` }))),
    ...approvals.rules.flatMap(({ name, tools = [] }) =>
      tools.map((rule) => ({ rule, in: `the approval rule ${name}` })),
    ),
  ];
  const unmatched = written.flatMap(({ rule, in: place }): Finding[] => {
    const message = unmatchedRule(rule, known);
    return message === undefined ? [] : [{ level: 'warn', subject: 'rules', message: `In ${place}: ${message}` }];
  });
  return [...unmatched, ...examineStanding({ config, policy }, targets)];
}

/** Reports the standing approvals that settle no call, because each tool that they match always asks. */
function examineStanding(
  { config, policy }: Pick<ActiveConfig, 'config' | 'policy'>,
  targets: Catalog['targets'],
): readonly Finding[] {
  return config.settings.approvals.standing.flatMap(({ tool }, at): Finding[] => {
    const matched = targets.filter((target) => allowsTools([tool], target, policy.groups));
    if (matched.length === 0 || matched.some(({ facts }) => facts.approval !== 'always')) return [];
    const message = `In approvals.standing[${at}]: ${tool} has no effect. Each of its calls needs an approval of its own.`;
    return [{ level: 'warn', subject: 'rules', message }];
  });
}
