import type { Target } from '../call.ts';
import { closest } from './did-you-mean.ts';
import { quoteName } from './visible-text.ts';

/** The known names that rules can match. */
export interface KnownNames {
  /** The configured servers and pools. */
  readonly groups: readonly string[];
  readonly tools: readonly Target[];
}

/** Returns a warning for a rule that matches nothing known, with the nearest name. */
export function unmatchedRule(rule: string, { groups, tools }: KnownNames): string | undefined {
  if (!rule.startsWith('mcp__')) return undefined; // The resources of a server are not all listed.
  const names = tools.map(({ publicName }) => publicName);
  if (names.includes(rule) || groups.some((group) => rule === `mcp__${group}` || rule === `mcp__${group}__*`)) {
    return undefined;
  }
  const group = groups.filter((name) => rule.startsWith(`mcp__${name}__`)).toSorted((a, b) => b.length - a.length)[0];
  if (group === undefined) {
    const guess = closest(rule, [...groups.map((name) => `mcp__${name}`), ...names]);
    return `The rule ${rule} matches no server that is configured.${didYouMean(guess)}`;
  }
  const own = tools.filter((target) => target.group === group || target.servers.includes(group));
  if (own.length === 0) return undefined; // It was never connected, so its tools are unknown.
  const spellings = own.flatMap(({ publicName, name }) => [publicName, `mcp__${group}__${name}`]);
  if (spellings.includes(rule)) return undefined;
  return `The rule ${rule} matches no tool of ${group} that is known.${didYouMean(closest(rule, spellings))}`;
}

const didYouMean = (guess: string | undefined) => (guess === undefined ? '' : ` Did you mean ${quoteName(guess)}?`);
