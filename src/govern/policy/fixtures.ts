import { compileExpression } from '../../cel/compile-expression.ts';
import type { LoadedPolicy } from '../../config/config.ts';

/** A rule with its condition compiled; override only what your test is about. */
export function aRule(overrides: Partial<LoadedPolicy> = {}): LoadedPolicy {
  const rule: LoadedPolicy = {
    name: 'rule',
    effect: 'deny',
    reason: 'The rule says so.',
    scope: 'project',
    at: { file: 'rules.yaml', line: 1, column: 1 },
    ...overrides,
  };
  if (rule.when === undefined) return rule;
  const condition = compileExpression(rule.when);
  if (!('evaluate' in condition)) throw new Error(`${rule.when}: ${condition.message}`);
  return { ...rule, condition };
}
