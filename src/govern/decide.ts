import type { ServerConfig } from '../config/config.ts';
import type { Profile, ServerEntry, Settings } from '../config/schema/schema.ts';
import { capabilitiesKey } from '../core/call/client-capabilities.ts';
import { nameAt, namesAt } from '../core/call/equivalent.ts';
import type { Caller, Decision, Target } from '../core/call.ts';
import { isMeant } from '../core/text/uri-template.ts';
import { findAllowance, findRestriction } from './policy/match.ts';
import { isInProfile, mayHaveOf } from './profile.ts';
import { addedWords, type Sent, sensitiveIn } from './sensitive.ts';
import { isResource } from './uri-rules.ts';

export interface Policy {
  readonly mode: Settings['mode'];
  readonly permissions: Settings['permissions'];
  /** By server: the permissions of its entry. */
  readonly servers: ReadonlyMap<string, Permissions>;
  /** By server: the pool that it belongs to, if any. */
  readonly pools?: ReadonlyMap<string, string>;
  /** The names of all configured servers and pools, connected or not. */
  readonly groups?: ReadonlySet<string> | undefined;
  /** Words that make arguments look sensitive besides the built-in ones. */
  readonly sensitiveWords?: readonly string[];
  /** By name: the contents and permissions of each profile. */
  readonly profiles?: ReadonlyMap<string, Profile>;
}

/** Collects the rules of a configuration: its own, those of each server entry, and those of its profiles. */
export function policyOf(
  { mode, permissions, approvals, profiles }: Settings,
  configs: ReadonlyMap<string, Pick<ServerConfig, 'entry'>>,
): Policy {
  const servers = [...configs].flatMap(([name, { entry }]) => (entry ? [[name, entry.permissions] as const] : []));
  const pools = [...configs].flatMap(([name, { entry }]) => (entry?.pool ? [[name, entry.pool] as const] : []));
  return {
    mode,
    permissions,
    servers: new Map(servers),
    pools: new Map(pools),
    groups: new Set([...configs.keys(), ...pools.map(([, pool]) => pool)]),
    sensitiveWords: approvals.sensitiveWords,
    profiles: new Map(Object.entries(profiles)),
  };
}

/**
 * Decides on a call of a target by a caller. Without `sent` it is the static half, a pure function of caller and target:
 * a target that it denies is hidden from the caller. With `sent` the arguments count, too.
 */
export type Decide = (caller: Caller, target: Target, sent?: Sent) => Decision;

type Permissions = ServerEntry['permissions'];

const STRICTEST = ['deny', 'ask', 'allow'] as const;
const BUILT_IN: Decision = { effect: 'allow', rule: 'built-in', reason: 'It comes with Heddle and only reads.' };

const OPEN: Decision = { effect: 'allow', rule: 'mode open', reason: 'Mode open needs no approvals.' };
const UNSUSPICIOUS: Decision = { effect: 'allow', rule: 'mode guarded', reason: 'No risk was found.' };

const NOT_SHOWN: Decision = {
  effect: 'deny',
  rule: 'capabilities',
  reason: 'Its server lists it only to clients with other capabilities.',
};
const NO_PROFILE: Decision = { effect: 'deny', rule: 'profiles', reason: 'There is no such profile.' };

interface NamedProfile {
  readonly name: string;
  readonly profile: Profile;
}

/** Builds `decide` from a policy. The rules of a profile only hide more targets and ask for more approvals. */
export function decider(policy: Policy): Decide {
  const withoutProfile = decideWithin(policy, undefined);
  const profiles = [...(policy.profiles ?? [])].map(
    ([name, profile]) => [name, decideWithin(policy, { name, profile })] as const,
  );
  const byProfile = new Map(profiles);
  return function decide({ profile, capabilities }, target, sent) {
    if (target.onlyFor && !target.onlyFor.has(capabilitiesKey(capabilities))) return NOT_SHOWN;
    if (profile === undefined) return withoutProfile(target, sent);
    return byProfile.get(profile)?.(target, sent) ?? NO_PROFILE;
  };
}

/** Decides by the strictest rule that matches, and by the mode if none does. The static half is cached per target. */
function decideWithin(policy: Policy, profile: NamedProfile | undefined): (target: Target, sent?: Sent) => Decision {
  const decisions = new WeakMap<Target, Decision>();
  const added = addedWords(policy.sensitiveWords ?? []);

  function byTarget(target: Target): Decision {
    const known = decisions.get(target);
    if (known) return known;
    const decision = decideStatic(policy, profile, target);
    decisions.set(target, decision);
    return decision;
  }

  return function decide(target, sent) {
    const decision = byTarget(target);
    // Only mode guarded reads the arguments, and only of a tool that no rule and no fact has decided on.
    if (decision !== UNSUSPICIOUS || !sent || target.kind !== 'tool') return decision;
    const valuesToo = !target.facts.readOnly;
    const reason = sensitiveIn(sent, valuesToo);
    if (reason) return { effect: 'ask', rule: 'mode guarded', reason };
    const byAdded = added && sensitiveIn(sent, valuesToo, added);
    return byAdded ? { effect: 'ask', rule: 'approvals.sensitiveWords', reason: byAdded } : decision;
  };
}

function decideStatic(policy: Policy, profile: NamedProfile | undefined, target: Target): Decision {
  const decision = byRules(policy, profile, target);
  const { builtin, readOnly } = target.facts;
  if (builtin && readOnly && decision?.effect !== 'deny') return BUILT_IN;
  return decision ?? byMode(policy.mode, target);
}

function byRules(policy: Policy, profile: NamedProfile | undefined, target: Target): Decision | undefined {
  if (profile && !isInProfile(profile.profile, target)) return outside(profile);
  const each = target.servers.map((server) =>
    strictest([
      ...globalRules(policy, target, server),
      ...serverRules(policy.servers, target, server),
      ...(profile ? profileRules({ ...profile, groups: policy.groups }, target, server) : []),
    ]),
  );
  return agreed(each);
}

const outside = ({ name }: NamedProfile): Decision => ({
  effect: 'deny',
  rule: `profiles.${name}`,
  reason: `It is not in the profile ${name}.`,
});

const profileRules = (
  { name, profile: { permissions }, groups }: NamedProfile & Pick<Policy, 'groups'>,
  target: Target,
  server: string,
): readonly Decision[] =>
  globalRules({ permissions, groups }, target, server).map((one) => ({ ...one, rule: `profiles.${name}.${one.rule}` }));

/** Returns true if the caller can see nothing of a server. It is then neither started for the caller nor shown. */
export function hidesServer(policy: Policy, { profile }: Caller, server: string): boolean {
  if (deniesServer(policy, server)) return true;
  if (profile === undefined) return false;
  const found = policy.profiles?.get(profile);
  return !found || deniesServer(found, server) || !mayHaveOf(found, server, policy.pools?.get(server));
}

/** Returns true if `permissions.deny` covers a whole server. It is then not started to read its lists. */
export function deniesServer({ permissions }: Pick<Policy, 'permissions'>, server: string): boolean {
  return permissions.deny.some((pattern) => pattern === `mcp__${server}` || pattern === `mcp__${server}__*`);
}

const strictest = (decisions: readonly Decision[]): Decision | undefined =>
  STRICTEST.map((effect) => decisions.find((decision) => decision.effect === effect)).find(Boolean);

/** Combines the decisions of a pool's servers: one `deny` or `ask` is enough, `allow` needs all of them. */
function agreed(each: readonly (Decision | undefined)[]): Decision | undefined {
  const found = strictest(each.filter((decision) => decision !== undefined));
  return found?.effect === 'allow' && each.includes(undefined) ? undefined : found;
}

function globalRules(
  { permissions, groups }: Pick<Policy, 'permissions' | 'groups'>,
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

function serverRules(servers: Policy['servers'], target: Target, server: string): readonly Decision[] {
  const permissions = servers.get(server);
  if (!permissions) return [];
  const found = [...byLists(permissions, server, target), ...byReadOrWrite(permissions, server, target)];
  return found.map(({ rule, ...rest }) => ({ ...rest, rule: `mcpServers.${server}.permissions.${rule}` }));
}

function byLists(permissions: Permissions, server: string, target: Target): readonly Decision[] {
  if (target.kind === 'tool') return byToolLists(permissions, server, target);
  return isResource(target) ? byAllowedResources(permissions, server, target) : [];
}

/** Decides by `allowedResources`, whose entries are URIs or URI templates. */
function byAllowedResources({ allowedResources }: Permissions, server: string, { name }: Target): readonly Decision[] {
  if (!allowedResources) return [];
  const rule = 'allowedResources';
  return allowedResources.some((written) => isMeant(name, written))
    ? [{ effect: 'allow', rule, reason: `${server} allows ${name}.` }]
    : [{ effect: 'deny', rule, reason: `${name} is not among the allowed resources of ${server}.` }];
}

function byToolLists({ allowedTools, deniedTools }: Permissions, server: string, target: Target): Decision[] {
  const name = nameAt(target, server);
  const found: Decision[] = [];
  if (namesAt(target, server).some((one) => deniedTools?.includes(one))) {
    found.push({ effect: 'deny', rule: 'deniedTools', reason: `${server} denies ${name}.` });
  }
  if (allowedTools?.includes(name)) {
    found.push({ effect: 'allow', rule: 'allowedTools', reason: `${server} allows ${name}.` });
  } else if (allowedTools) {
    const reason = `${name} is not among the allowed tools of ${server}.`;
    found.push({ effect: 'ask', rule: 'allowedTools', reason });
  }
  return found;
}

function byReadOrWrite(permissions: Permissions, server: string, { facts }: Target): Decision[] {
  const rule = facts.readOnly ? 'readPermission' : 'writePermission';
  const effect = permissions[rule];
  if (!effect) return [];
  return [{ effect, rule, reason: `${server} says ${effect} to calls that ${facts.readOnly ? 'read' : 'may write'}.` }];
}

function byMode(mode: Policy['mode'], target: Target): Decision {
  if (mode === 'open') return OPEN;
  const rule = `mode ${mode}`;
  if (mode === 'strict') return { effect: 'ask', rule, reason: `Mode strict asks for every external ${target.kind}.` };
  const reason = riskReason(target);
  return reason ? { effect: 'ask', rule, reason } : UNSUSPICIOUS;
}

function riskReason({ facts }: Target): string | undefined {
  if (facts.requiresApproval) return 'The tool requires approval.';
  if (facts.destructive) return 'The tool is destructive.';
  return facts.riskLevel === 'high' ? 'The tool is of high risk.' : undefined;
}
