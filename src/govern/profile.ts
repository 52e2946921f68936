import type { Profile } from '../config/schema/schema.ts';
import { namesAt } from '../core/call/equivalent.ts';
import { knownCategory } from '../core/call/known-category.ts';
import type { Target } from '../core/call.ts';
import { matchesGlob, mayFit } from '../core/text/match-glob.ts';
import { includesAmbiguous, isAmbiguous, type Restriction, restrictionsOf, restrictsResource } from './uri-rules.ts';

/** Returns true if a profile contains a target: each filter that the profile sets matches, and `exclude` does not. */
export function isInProfile(profile: Profile, target: Target): boolean {
  const { servers, categories, tools, exclude } = profile;
  // Any server of a pool may get the call, so each has to match.
  if (servers && !target.servers.every((server) => servers.some((pattern) => matchesGlob(pattern, server))))
    return false;
  if (categories && !categories.includes(knownCategory(target.facts))) return false;
  if (tools && !tools.some((pattern) => includes(pattern, target))) return false;
  return !exclude || !restrictionsOf(exclude).some((rule) => excludes(rule, target));
}

/**
 * Returns false if a profile can contain nothing of a server, not even through its pool. Such a server is neither
 * started for callers of the profile nor shown to them.
 */
export function mayHaveOf({ servers, tools, exclude = [] }: Profile, server: string, pool?: string): boolean {
  if (servers && !servers.some((pattern) => matchesGlob(pattern, server))) return false;
  const own = groupsOf(server);
  if (exclude.some((pattern) => pattern === '*' || own.some((group) => pattern === `${group}*`))) return false;
  const groups = pool === undefined ? own : [...own, ...groupsOf(pool)];
  return tools?.some((pattern) => !namesServer(pattern) || groups.some((group) => mayFit(pattern, group))) ?? true;
}

const groupsOf = (name: string) => [`mcp__${name}__`, `${name}.`];

function includes(pattern: string, target: Target): boolean {
  const { publicName, group, shownAs, servers } = target;
  if (isAmbiguous(target) && !includesAmbiguous(pattern, target)) return false;
  if (isPublic(pattern) && matchesGlob(pattern, publicName)) return true;
  if (namesServer(pattern) && isNamed(pattern, group, shownAs)) return true;
  return servers.every((server) => namesAt(target, server).some((name) => isNamed(pattern, server, name)));
}

/** Returns true if any name of a target matches an `exclude` pattern. One server of a pool excludes the whole pool. */
function excludes(rule: Restriction, target: Target): boolean {
  const { pattern } = rule;
  const { publicName, group, shownAs, servers, tools = [] } = target;
  if (isPublic(pattern) && matchesGlob(pattern, publicName)) return true;
  if (isNamed(pattern, group, shownAs)) return true;
  // A method of an extension may do what an excluded tool of its server does.
  if (target.kind === 'extension' && (namesToolOf(pattern, servers) || tools.some((tool) => excludes(rule, tool))))
    return true;
  return servers.some(
    (server) =>
      restrictsResource(rule, target, server) ||
      namesAt(target, server).some((name) => matchesGlob(pattern, name) || isNamed(pattern, server, name)),
  );
}

/** Returns true if a pattern may name a tool of one of these servers, known or not. */
const namesToolOf = (pattern: string, servers: readonly string[]): boolean =>
  namesServer(pattern) && servers.some((server) => groupsOf(server).some((group) => mayFit(pattern, group)));

/**
 * Matches a pattern against `mcp__server__tool`, `server.tool` or the bare name; a pool is named like a server. Servers
 * choose their tool names, so a pattern that names a server is never matched against a bare name.
 */
function isNamed(pattern: string, group: string | undefined, name: string | undefined): boolean {
  if (group === undefined || name === undefined) return false;
  if (pattern.startsWith('mcp__')) return matchesGlob(pattern, `mcp__${group}__${name}`);
  if (pattern.includes('.') && matchesGlob(pattern, `${group}.${name}`)) return true;
  return !namesServer(pattern) && matchesGlob(pattern, name);
}

const isPublic = (pattern: string) => pattern.startsWith('mcp__') || pattern.includes(':');

/** Returns true for `mcp__…` and for `server.tool`; a dot in a URI does not count. */
const namesServer = (pattern: string) =>
  pattern.startsWith('mcp__') || (pattern.includes('.') && !pattern.includes(':'));
