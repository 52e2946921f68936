import { callerName } from '../../core/call/caller.ts';
import { namesAt } from '../../core/call/equivalent.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller, Target } from '../../core/call.ts';
import { matchesGlob } from '../../core/text/match-glob.ts';
import { isResource, type Restriction, restrictionsOf, restrictsResource } from '../uri-rules.ts';

const NONE: ReadonlySet<string> = new Set();

/**
 * Returns true if a rule that denies or asks names a target: the semantics of `permissions.deny`. Any name of the target
 * counts, and one server of a pool covers the whole pool.
 */
export const matchesTools = (patterns: readonly string[], target: Target): boolean =>
  target.servers.some((server) => findRestriction(patterns, target, server) !== undefined);

/**
 * Returns true if a rule that allows names a target: the semantics of `permissions.allow`. Every server of a pool has to
 * be named. `groups` has the names of all configured servers and pools.
 */
export const allowsTools = (patterns: readonly string[], target: Target, groups?: ReadonlySet<string>): boolean =>
  target.servers.every((server) => findAllowance(patterns, { target, server, groups }) !== undefined);

/**
 * Returns true if a pattern names a caller: `role:user`, `key:ci`, `<issuer>#<sub>`, `library/planner`; `*` is any run of
 * characters. `library` names the program and all its agents.
 */
export function matchesCallers(patterns: readonly string[], caller: Pick<Caller, 'id' | 'roles' | 'agent'>): boolean {
  const { id, roles } = caller;
  const [principal, name] = [vaultPrincipal(caller), callerName(caller)];
  return patterns.some((pattern) =>
    pattern.startsWith('role:')
      ? roles.some((role) => matchesGlob(pattern, `role:${role}`))
      : matchesGlob(pattern, id) || matchesGlob(pattern, principal) || (name !== id && matchesGlob(pattern, name)),
  );
}

/** Returns the first pattern of a rule that denies or asks which matches a target at one server. */
export const findRestriction = (patterns: readonly string[], target: Target, server: string): string | undefined =>
  restrictionsOf(patterns).find((rule) => restricts(rule, target, server))?.pattern;

export interface TargetAtServer {
  readonly target: Target;
  readonly server: string;
  /** The names of all configured servers and pools. */
  readonly groups?: ReadonlySet<string> | undefined;
}

/** Returns the first pattern of a rule that allows which matches a target at one server. */
export const findAllowance = (
  patterns: readonly string[],
  { target, server, groups }: TargetAtServer,
): string | undefined =>
  patterns.find((pattern) => names(pattern, target, server) && !isOfAnother(pattern, target, groups));

/** Matches an exact public name, `mcp__server` or `mcp__server__*`; a pool is named like a server. */
function names(pattern: string, target: Target, server: string): boolean {
  const { publicName, servers } = target;
  const group = groupOf(pattern);
  // A server chooses its URIs, so a URI that looks like `mcp__…` is not matched as a tool name.
  if (pattern === publicName && !(isResource(target) && pattern.startsWith('mcp__'))) return true;
  // `mcp__a__b` may mean the tool b of server a. It does not match the server a__b; `mcp__a__b__*` does.
  const wholeServer = group === `mcp__${server}` && (pattern !== group || !server.includes('__'));
  if (wholeServer) return true;
  return servers.length > 1 && group === `mcp__${target.group}`;
}

/**
 * Returns true if a pattern means a tool of another configured server. `mcp__a__b__c` is b__c of server a, or c of
 * server a__b. It means the longest configured name, connected or not, so that no other server gets its permission.
 */
function isOfAnother(pattern: string, { publicName, group }: Target, groups: ReadonlySet<string> = NONE): boolean {
  if (pattern !== publicName || group === undefined) return false;
  return [...groups].some((other) => other.length > group.length && pattern.startsWith(`mcp__${other}__`));
}

/**
 * Returns true if a rule that denies or asks matches a target by any of its names: the public name, the server's own
 * name or the configured name. One match covers all of a pool.
 */
function restricts(rule: Restriction, target: Target, server: string): boolean {
  const { pattern } = rule;
  const { publicName, servers, group, shownAs } = target;
  if (names(pattern, target, server)) return true;
  if (target.kind === 'extension') return isOfTool(pattern, target, server);
  if (namesAt(target, server).some((name) => pattern === `mcp__${server}__${name}`)) return true;
  if (restrictsResource(rule, target, server)) return true;
  if (pattern === `mcp__${group}__${shownAs}`) return true;
  if (servers.length === 1) return false;
  return groupOf(pattern) === `mcp__${group}` || publicName.startsWith(`${groupOf(pattern)}__`);
}

/**
 * Returns true if a pattern may name a tool of the server of a method, or of its pool. The method may do what that tool
 * does. The tool need not be known.
 */
const isOfTool = (pattern: string, { tools = [] }: Target, server: string): boolean => {
  const groups = new Set([server, ...tools.map(({ group }) => group)]);
  return [...groups].some((group) => pattern === `mcp__${group}` || pattern.startsWith(`mcp__${group}__`));
};

const groupOf = (pattern: string) => (pattern.endsWith('__*') ? pattern.slice(0, -3) : pattern);
