import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isRulePattern, meantRule, RULE_FORMS } from '../../core/text/rule-pattern.ts';
import type { KnownNames } from '../../core/text/unmatched-rule.ts';
import type { Heddle } from '../../heddle.ts';

/** Throws USAGE_INVALID for a text that can be no rule, with the rule that was meant. */
export function requireRule(rule: string): void {
  if (isRulePattern(rule)) return;
  const meant = meantRule(rule);
  const fix = meant === undefined ? `A rule is ${RULE_FORMS}.` : `Did you mean \`${meant}\`?`;
  throw new HeddleError('USAGE_INVALID', `${rule} is not a rule.`, { fix });
}

/** Reads the names that rules can match. Starts no server. */
export async function knownNames(heddle: Pick<Heddle, 'catalog' | 'servers'>, by: Caller): Promise<KnownNames> {
  const [{ items }, servers] = await Promise.all([
    heddle.catalog.list(by, { waitMs: 0, limit: Number.POSITIVE_INFINITY, includeInvalid: true }),
    heddle.servers.list(by),
  ]);
  const pools = items.flatMap(({ group }) => group ?? []);
  return { tools: items, groups: [...new Set([...servers.map(({ name }) => name), ...pools])] };
}
