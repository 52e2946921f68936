import type { Caller, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Heddle } from '../../heddle.ts';

const NAMED = /^mcp__[A-Za-z0-9_-]+?(__\S+)?$/;
const URI = /^[a-z][a-z0-9+.-]*:\S/i;
const FORMS = 'A rule is `mcp__server`, `mcp__server__tool`, `mcp__server__*` or the URI of a resource.';

/** Throws USAGE_INVALID for a text that can be no rule, with the rule that was meant. */
export function requireRule(rule: string): void {
  const isName = NAMED.test(rule) && !/\*(?!$)|(?<!__)\*$/.test(rule);
  if (isName || (URI.test(rule) && !rule.startsWith('mcp__'))) return;
  throw new HeddleError('USAGE_INVALID', `${rule} is not a rule.`, { fix: meantRule(rule) ?? FORMS });
}

/** Guesses the rule from a name as other commands accept it: `server`, `server.tool` or `server.*`. */
function meantRule(text: string): string | undefined {
  const [, server, tool] = /^([A-Za-z0-9_-]+)(?:\.([^\s*]+|\*))?$/.exec(text) ?? [];
  if (server === undefined || server.startsWith('mcp__')) return undefined;
  return `Did you mean \`mcp__${server}${tool === undefined ? '' : `__${tool}`}\`?`;
}

/** The known names that rules can match. */
export interface KnownNames {
  /** The configured servers and pools. */
  readonly groups: readonly string[];
  readonly tools: readonly Target[];
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

const didYouMean = (guess: string | undefined) => (guess === undefined ? '' : ` Did you mean ${guess}?`);
