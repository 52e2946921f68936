import type { Profile } from '../config/schema.ts';
import type { Target } from '../core/call.ts';
import { nameAt } from '../core/equivalent.ts';
import { fits } from '../core/fits.ts';

/** Whether a profile has this: everything that it names at all says so, and nothing of it is excluded. */
export function isWithin(profile: Profile, target: Target): boolean {
  const { servers, categories, tools, exclude = [] } = profile;
  // Any server of a pool may get the call, so each has to belong.
  if (servers && !target.servers.every((server) => servers.some((pattern) => fits(pattern, server)))) return false;
  if (categories && !categories.includes(target.facts.category)) return false;
  if (tools && !tools.some((pattern) => includes(pattern, target))) return false;
  return !exclude.some((pattern) => excludes(pattern, target));
}

/** Whether a profile may have anything of a server; where not, the server is neither started for it nor known in it. */
export function mayHaveOf({ servers, tools, exclude = [] }: Profile, server: string): boolean {
  if (servers && !servers.some((pattern) => fits(pattern, server))) return false;
  const groups = [`mcp__${server}__`, `${server}.`];
  if (exclude.some((pattern) => pattern === '*' || groups.some((group) => pattern === `${group}*`))) return false;
  return tools?.some((pattern) => !namesServer(pattern) || groups.some((group) => mayStart(pattern, group))) ?? true;
}

function includes(pattern: string, target: Target): boolean {
  if (isPublic(pattern) && fits(pattern, target.publicName)) return true;
  return target.servers.every((server) => isNamed(pattern, target, server));
}

/** In doubt more than was written: whatever a tool calls itself, and one server of a pool, leaves the whole out. */
function excludes(pattern: string, target: Target): boolean {
  if (isPublic(pattern) && fits(pattern, target.publicName)) return true;
  return target.servers.some((server) => fits(pattern, nameAt(target, server)) || isNamed(pattern, target, server));
}

/**
 * `mcp__server__tool`, `server.tool`, or what the tool is called by itself. Servers choose the names of their tools, so
 * a pattern that names a server is held only against what begins with the server's own name.
 */
function isNamed(pattern: string, target: Target, server: string): boolean {
  const name = nameAt(target, server);
  if (pattern.startsWith('mcp__')) return fits(pattern, `mcp__${server}__${name}`);
  if (pattern.includes('.') && fits(pattern, `${server}.${name}`)) return true;
  return !namesServer(pattern) && fits(pattern, name);
}

const isPublic = (pattern: string) => pattern.startsWith('mcp__') || pattern.includes(':');

/** A dot sets a server and its tool apart, except in a URI. */
const namesServer = (pattern: string) =>
  pattern.startsWith('mcp__') || (pattern.includes('.') && !pattern.includes(':'));

/** Whether what begins with `start` may fit: the two agree as far as both are known. */
function mayStart(pattern: string, start: string): boolean {
  const star = pattern.indexOf('*');
  const known = star < 0 ? pattern : pattern.slice(0, star);
  return known.startsWith(start) || (star >= 0 && start.startsWith(known));
}
