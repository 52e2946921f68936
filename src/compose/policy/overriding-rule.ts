import type { Catalog } from '../../catalog/catalog.ts';
import { listAllTargets } from '../../catalog/list.ts';
import { requireRole } from '../../core/call/caller.ts';
import { UNDECLARED_FACTS } from '../../core/call/facts.ts';
import type { Caller, Effect, Target } from '../../core/call.ts';
import type { NewRule, OverridingRule } from '../../core/records/policy.ts';
import { decider, type Policy } from '../../govern/decide.ts';
import type { PermissionOptions } from './entry-permissions.ts';
import { ruleLocations } from './rule-locations.ts';

/** A caller that no rule names and that has no profile: a rule of `permissions` is for all callers. */
const ANY: Caller = { id: '', roles: ['user'], via: 'gateway' };

/**
 * Returns the rule that wins over a new rule of `permissions` on every known entry it matches. For a server that was
 * never connected, one made-up entry stands for all.
 */
export async function overridingRule(
  { catalog, active }: PermissionOptions,
  by: Caller,
  rule: NewRule,
): Promise<OverridingRule | undefined> {
  requireRole(by, ['owner', 'operator']);
  const { config, policy } = active();
  if (rule.effect === 'allow' && (config.exclusive || config.onlyManagedAllow)) {
    const managed = config.exclusive ?? config.policies?.find(({ scope }) => scope === 'enterprise')?.at;
    const reason = 'This machine is managed, and only its administrator may allow calls.';
    const at = managed && { at: { file: managed.file, line: managed.line } };
    return { effect: 'ask', rule: 'managed settings', reason, ...at };
  }
  const decide = decider(withRule(policy, rule));
  const matched = targetsOf(catalog.current(by), rule);
  const targets = matched.length > 0 ? matched : [madeUp(rule.pattern, policy.groups ?? new Set())];
  const decisions = targets.map((target) => decide(ANY, target));
  const [first] = decisions;
  if (!first || decisions.some(({ effect }) => effect === rule.effect)) return undefined;
  const at = (await ruleLocations(config))(first.rule);
  return { effect: first.effect, rule: first.rule, reason: first.reason, ...(at && { at }) };
}

function withRule(policy: Policy, { effect, pattern, leaves }: NewRule): Policy {
  const listOf = (one: Effect) => {
    const list = policy.permissions[one];
    if (one === effect) return [pattern, ...list];
    return leaves.includes(one) ? list.filter((other) => other !== pattern) : list;
  };
  // The rule counts once the invalid ones are corrected.
  return {
    ...policy,
    hasInvalidRules: false,
    permissions: { allow: listOf('allow'), ask: listOf('ask'), deny: listOf('deny') },
  };
}

/** Returns the known entries that a rule matches: those that it decides on if it is the only one. */
function targetsOf(known: Catalog, { effect, pattern }: NewRule): readonly Target[] {
  const none = { allow: [], ask: [], deny: [] };
  const alone: Policy = { mode: 'strict', permissions: { ...none, [effect]: [pattern] }, servers: new Map() };
  const decide = decider(alone);
  const isMatched = (target: Target) => decide(ANY, byRulesAlone(target)).rule.startsWith('permissions.');
  const kinds = ['tool', 'prompt', 'resource', 'template'] as const;
  return kinds.flatMap((kind) => listAllTargets(known, kind)).filter(isMatched);
}

/** Removes what is decided on before the rules: a tool that is only for some clients, or that always asks. */
function byRulesAlone({ onlyFor: _, ...target }: Target): Target {
  const { approval: __, ...facts } = target.facts;
  return { ...target, facts };
}

/** Makes an entry that a rule matches, of the longest configured name that fits. */
function madeUp(pattern: string, groups: ReadonlySet<string>): Target {
  const named = [...groups].filter((name) => `${pattern}__`.startsWith(`mcp__${name}__`));
  const [, written = ''] = /^mcp__(.+?)(?:__|$)/.exec(pattern) ?? [];
  const group = named.toSorted((a, b) => b.length - a.length)[0] ?? written;
  const isWhole = pattern === `mcp__${group}` || pattern === `mcp__${group}__*`;
  const name = isWhole ? '\u0000' : pattern.slice(`mcp__${group}__`.length);
  const isUri = !pattern.startsWith('mcp__');
  const names = isUri ? { publicName: pattern, name: pattern } : { publicName: `mcp__${group}__${name}`, name };
  return {
    kind: isUri ? 'resource' : 'tool',
    ...names,
    servers: [group],
    ...(!isUri && { group, shownAs: name }),
    definition: {},
    digest: '',
    flags: [],
    facts: UNDECLARED_FACTS,
  };
}
