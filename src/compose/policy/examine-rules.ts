import type { Catalog } from '../../catalog/catalog.ts';
import { type KnownNames, unmatchedRule } from '../../core/call/unmatched-rule.ts';
import type { Finding } from '../../core/records/finding.ts';
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
  return written.flatMap(({ rule, in: place }): Finding[] => {
    const message = unmatchedRule(rule, known);
    return message === undefined ? [] : [{ level: 'warn', subject: 'rules', message: `In ${place}: ${message}` }];
  });
}
