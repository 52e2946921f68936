import type { LoadedPolicy } from '../../config/config.ts';
import { namesAt } from '../../core/call/equivalent.ts';
import type { Target } from '../../core/call.ts';
import { allowsTools, matchesTools } from './match.ts';

/** Returns the rules whose `tools` match a target, in their order. The result is kept per target. */
export type RulesFor = (target: Target) => readonly LoadedPolicy[];

/** Indexes rules by the patterns of their `tools`, so that thousands of rules on single tools cost little per target. */
export function ruleIndex(rules: readonly LoadedPolicy[], groups: ReadonlySet<string> | undefined): RulesFor {
  const order = new Map(rules.map((rule, index) => [rule, index]));
  const forAll = rules.filter(({ tools }) => tools === undefined);
  const byPattern = Map.groupBy(
    rules.flatMap((rule) => (rule.tools ?? []).map((pattern) => ({ pattern, rule }))),
    ({ pattern }) => pattern,
  );
  const known = new WeakMap<Target, readonly LoadedPolicy[]>();

  function candidates(target: Target): readonly LoadedPolicy[] {
    if (target.kind !== 'tool' || target.servers.length > 1) return rules;
    const named = patternsOf(target).flatMap((pattern) => byPattern.get(pattern) ?? []);
    return [...new Set([...forAll, ...named.map(({ rule }) => rule)])];
  }

  function matches({ tools, effect }: LoadedPolicy, target: Target): boolean {
    if (tools === undefined) return true;
    return effect === 'allow' ? allowsTools(tools, target, groups) : matchesTools(tools, target);
  }

  return (target) => {
    const found = known.get(target);
    if (found) return found;
    const place = (rule: LoadedPolicy) => order.get(rule) ?? 0;
    const matching = candidates(target).filter((rule) => matches(rule, target));
    const sorted = matching.toSorted((a, b) => place(a) - place(b));
    known.set(target, sorted);
    return sorted;
  };
}

/** Lists every pattern that can match a tool of one server. */
function patternsOf(target: Target): readonly string[] {
  const { publicName, group, shownAs, servers } = target;
  const [server] = servers;
  const own = namesAt(target, server).map((name) => `mcp__${server}__${name}`);
  const all = [publicName, `mcp__${server}`, `mcp__${server}__*`, `mcp__${group}__${shownAs}`, ...own];
  return [...new Set(all)];
}
