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
  return tools?.some((pattern) => isOwnName(pattern) || groups.some((group) => mayStart(pattern, group))) ?? true;
}

/**
 * A public name, `server.tool`, or what the tool is called by itself. Servers choose the names of their tools, so a
 * pattern that names a server is held only against what begins with the server's own name.
 */
function includes(pattern: string, target: Target): boolean {
  const { publicName, servers } = target;
  if (fits(pattern, publicName)) return true;
  if (isOwnName(pattern) && servers.every((server) => fits(pattern, nameAt(target, server)))) return true;
  return pattern.includes('.') && servers.every((server) => fits(pattern, `${server}.${nameAt(target, server)}`));
}

/** In doubt more than was written: any of its names, and one server of a pool, leaves the whole out. */
function excludes(pattern: string, target: Target): boolean {
  const atOne = (server: string) => {
    const name = nameAt(target, server);
    return [name, `${server}.${name}`, `mcp__${server}__${name}`].some((text) => fits(pattern, text));
  };
  return fits(pattern, target.publicName) || target.servers.some(atOne);
}

/** A dot sets a server and its tool apart, except in a URI. */
const isOwnName = (pattern: string) =>
  !pattern.startsWith('mcp__') && (!pattern.includes('.') || pattern.includes(':'));

/** Whether what begins with `start` may fit: the two agree as far as both are known. */
function mayStart(pattern: string, start: string): boolean {
  const star = pattern.indexOf('*');
  const known = star < 0 ? pattern : pattern.slice(0, star);
  return known.startsWith(start) || (star >= 0 && start.startsWith(known));
}
