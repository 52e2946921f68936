import type { Profile, ServerEntry, Settings } from '../../config/schema/schema.ts';
import { nameAt, namesAt } from '../../core/call/equivalent.ts';
import type { Decision, Target } from '../../core/call.ts';
import { matchesGlob } from '../../core/text/match-glob.ts';
import { isMeant } from '../../core/text/uri-template.ts';
import { isInProfile } from '../profile.ts';
import { isAmbiguous, isResource } from '../uri-rules.ts';
import { findAllowance, findRestriction } from './match.ts';

export type ServerPermissions = ServerEntry['permissions'];

/** The rules by name: those of `permissions`, of server entries and of profiles. */
export interface PermissionRules {
  readonly permissions: Settings['permissions'];
  /** By server: the permissions of its entry. */
  readonly servers: ReadonlyMap<string, ServerPermissions>;
  /** The names of all configured servers and pools, connected or not. */
  readonly groups?: ReadonlySet<string> | undefined;
  /** Servers whose entries cannot allow calls, because only the organisation may. */
  readonly cannotAllow?: ReadonlySet<string>;
}

export interface NamedProfile {
  readonly name: string;
  readonly profile: Profile;
}

const STRICTEST = ['deny', 'ask', 'allow'] as const;

/** Returns the strictest of the decisions; undefined if there are none. */
export const strictestOf = (decisions: readonly Decision[]): Decision | undefined =>
  STRICTEST.map((effect) => decisions.find((decision) => decision.effect === effect)).find(Boolean);

/** Decides by the rules of `permissions`, of the server entries and of a profile; undefined if none matches. */
export function decideByPermissions(
  rules: PermissionRules,
  profile: NamedProfile | undefined,
  target: Target,
): Decision | undefined {
  if (profile && !isInProfile(profile.profile, target)) return outside(profile);
  const each = target.servers.map((server) =>
    strictestOf([
      ...globalRules(rules, target, server),
      ...serverRules(rules, target, server),
      ...(profile ? profileRules({ ...profile, groups: rules.groups }, target, server) : []).filter(restricts),
    ]),
  );
  return agreed(each);
}

/**
 * Returns true if `allow` of a profile covers a target. It lifts the mode of the profile and no other: callers may
 * choose their profile by the path.
 */
export const isAllowedInProfile = (
  { groups }: Pick<PermissionRules, 'groups'>,
  profile: NamedProfile,
  target: Target,
): boolean =>
  target.servers.every((server) =>
    profileRules({ ...profile, groups }, target, server).some(({ effect }) => effect === 'allow'),
  );

const restricts = ({ effect }: Decision) => effect !== 'allow';

/** Returns all decisions of these rules on a target, the overridden ones included. */
export function matchingPermissions(
  rules: PermissionRules,
  profile: NamedProfile | undefined,
  target: Target,
): readonly Decision[] {
  const all = target.servers.flatMap((server) => [
    ...globalRules(rules, target, server),
    ...serverRules(rules, target, server),
    ...(profile ? profileRules({ ...profile, groups: rules.groups }, target, server) : []).filter(restricts),
  ]);
  const outsideOf = profile && !isInProfile(profile.profile, target) ? [outside(profile)] : [];
  return [...new Map([...outsideOf, ...all].map((one) => [one.rule, one])).values()];
}

const outside = ({ name }: NamedProfile): Decision => ({
  effect: 'deny',
  rule: `profiles.${name}`,
  reason: `It is not in the profile ${name}.`,
});

const profileRules = (
  { name, profile: { permissions }, groups }: NamedProfile & Pick<PermissionRules, 'groups'>,
  target: Target,
  server: string,
): readonly Decision[] =>
  globalRules({ permissions, groups }, target, server).map((one) => ({ ...one, rule: `profiles.${name}.${one.rule}` }));

/** Combines the decisions of a pool's servers: one `deny` or `ask` is enough, `allow` needs all of them. */
function agreed(each: readonly (Decision | undefined)[]): Decision | undefined {
  const found = strictestOf(each.filter((decision) => decision !== undefined));
  return found?.effect === 'allow' && each.includes(undefined) ? undefined : found;
}

function globalRules(
  { permissions, groups }: Pick<PermissionRules, 'permissions' | 'groups'>,
  target: Target,
  server: string,
): readonly Decision[] {
  return STRICTEST.flatMap((effect) => {
    const pattern =
      effect === 'allow'
        ? findAllowance(permissions.allow, { target, server, groups })
        : findRestriction(permissions[effect], target, server);
    if (!pattern) return [];
    return [{ effect, rule: `permissions.${effect}: ${pattern}`, reason: `The rule ${pattern} says ${effect}.` }];
  });
}

function serverRules({ servers, cannotAllow }: PermissionRules, target: Target, server: string): readonly Decision[] {
  const permissions = servers.get(server);
  if (!permissions) return [];
  const found = [...byLists(permissions, server, target), ...byReadOrWrite(permissions, server, target)];
  if (target.kind === 'extension') found.push(...forTools(permissions, server, target));
  return found
    .filter(({ effect }) => effect !== 'allow' || !cannotAllow?.has(server))
    .map(({ rule, ...rest }) => ({ ...rest, rule: `mcpServers.${server}.permissions.${rule}` }));
}

function byLists(permissions: ServerPermissions, server: string, target: Target): readonly Decision[] {
  if (target.kind === 'tool' || target.kind === 'extension') return byToolLists(permissions, server, target);
  return isResource(target) ? byAllowedResources(permissions, server, target) : [];
}

/** Decides by `allowedResources`, whose entries are URIs, URI templates or globs. */
function byAllowedResources(
  { allowedResources }: ServerPermissions,
  server: string,
  target: Target,
): readonly Decision[] {
  if (!allowedResources) return [];
  const rule = 'allowedResources';
  const { name } = target;
  return allowedResources.some((written) => isMeant(name, written) || isInGlob(target, written))
    ? [{ effect: 'allow', rule, reason: `${server} allows ${name}.` }]
    : [{ effect: 'deny', rule, reason: `${name} is not among the allowed resources of ${server}.` }];
}

/** Returns true if a glob covers a resource. A `*` in braces belongs to a template. An ambiguous URI is never covered. */
const isInGlob = (target: Target, written: string) =>
  written.includes('*') && !written.includes('{') && !isAmbiguous(target) && matchesGlob(written, target.name);

function byToolLists({ allowedTools, deniedTools }: ServerPermissions, server: string, target: Target): Decision[] {
  const name = nameAt(target, server);
  const found: Decision[] = [];
  if (namesAt(target, server).some((one) => isListed(deniedTools, one))) {
    found.push({ effect: 'deny', rule: 'deniedTools', reason: `${server} denies ${name}.` });
  }
  if (isListed(allowedTools, name)) {
    found.push({ effect: 'allow', rule: 'allowedTools', reason: `${server} allows ${name}.` });
  } else if (allowedTools) {
    const reason = `${name} is not among the allowed tools of ${server}.`;
    found.push({ effect: 'ask', rule: 'allowedTools', reason });
  }
  return found;
}

const isListed = (patterns: readonly string[] = [], name: string) =>
  patterns.some((pattern) => matchesGlob(pattern, name));

/** Returns the decisions on a method of an extension by rules about tools of its server: it may do what they do. */
function forTools(
  { deniedTools = [], readPermission }: ServerPermissions,
  server: string,
  { name }: Target,
): Decision[] {
  const [denied] = deniedTools;
  const found: Decision[] = [];
  if (denied !== undefined) {
    const reason = `${server} denies ${denied}, and ${name} may have the same effect.`;
    found.push({ effect: 'deny', rule: 'deniedTools', reason });
  }
  if (readPermission && readPermission !== 'allow') {
    const reason = `${server} says ${readPermission} to calls that read, and ${name} may read.`;
    found.push({ effect: readPermission, rule: 'readPermission', reason });
  }
  return found;
}

function byReadOrWrite(permissions: ServerPermissions, server: string, { facts }: Target): Decision[] {
  const rule = facts.readOnly ? 'readPermission' : 'writePermission';
  const effect = permissions[rule];
  if (!effect) return [];
  return [{ effect, rule, reason: `${server} says ${effect} to calls that ${facts.readOnly ? 'read' : 'may write'}.` }];
}
