import type { ServerConfig } from '../config/config.ts';
import type { Profile, ServerEntry, Settings } from '../config/schema/schema.ts';
import { capabilitiesKey } from '../core/call/client-capabilities.ts';
import { nameAt, namesAt } from '../core/call/equivalent.ts';
import type { Caller, JsonObject, Target } from '../core/call.ts';
import { isMeant } from '../core/text/uri-template.ts';
import { isInProfile, mayHaveOf } from './profile.ts';
import { type Sent, sensitiveIn } from './sensitive.ts';
import { isResource, type Restriction, restrictionsOf, restrictsResource } from './uri-rules.ts';

export interface Policy {
  readonly mode: Settings['mode'];
  readonly permissions: Settings['permissions'];
  /** By server: what its own entry permits. */
  readonly servers: ReadonlyMap<string, Permissions>;
  /** By server: the pool that it belongs to, where it does. */
  readonly pools?: ReadonlyMap<string, string>;
  /** All servers and pools that are configured, those included that are away. */
  readonly groups?: ReadonlySet<string> | undefined;
  /** By name: what their callers have, and what else holds for them. */
  readonly profiles?: ReadonlyMap<string, Profile>;
}

export interface Decision {
  readonly effect: 'allow' | 'ask' | 'deny';
  /** What decided, so that a person can find and change it: `permissions.deny: mcp__x`, `mode guarded`, … */
  readonly rule: string;
  readonly reason: string;
}

/** The rules that a configuration makes: its own, those of each server's entry, and those of its profiles. */
export function policyOf(
  { mode, permissions, profiles }: Settings,
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
    profiles: new Map(Object.entries(profiles)),
  };
}

/**
 * May this caller call this? Without `sent` it answers for the tool as such:
 * what is denied then is not even shown.
 */
export type Decide = (caller: Caller, target: Target, sent?: Sent) => Decision;

type Permissions = ServerEntry['permissions'];

const STRICTEST = ['deny', 'ask', 'allow'] as const;
const BUILT_IN: Decision = { effect: 'allow', rule: 'built-in', reason: 'It comes with Heddle and only reads.' };

const OPEN: Decision = { effect: 'allow', rule: 'mode open', reason: 'Nothing asks in mode open.' };
const UNSUSPICIOUS: Decision = { effect: 'allow', rule: 'mode guarded', reason: 'Nothing speaks against it.' };

const NONE: ReadonlySet<string> = new Set();
const NOT_SHOWN: Decision = {
  effect: 'deny',
  rule: 'abilities',
  reason: 'Its server shows it only to clients that can be asked other things.',
};
const NO_PROFILE: Decision = { effect: 'deny', rule: 'profiles', reason: 'There is no such profile.' };

/** A profile as its callers meet it. */
interface Within {
  readonly name: string;
  readonly profile: Profile;
}

/** The rules for everybody, or those for the callers of a profile: these see less, and are asked as much or more. */
export function decider(policy: Policy): Decide {
  const whole = decideWithin(policy, undefined);
  const profiles = [...(policy.profiles ?? [])].map(
    ([name, profile]) => [name, decideWithin(policy, { name, profile })] as const,
  );
  const byProfile = new Map(profiles);
  return function decide({ profile, capabilities }, target, sent) {
    if (target.onlyFor && !target.onlyFor.has(capabilitiesKey(capabilities))) return NOT_SHOWN;
    if (profile === undefined) return whole(target, sent);
    return byProfile.get(profile)?.(target, sent) ?? NO_PROFILE;
  };
}

/** Rules first, the strictest that matches; the mode only when none does. */
function decideWithin(policy: Policy, within: Within | undefined): (target: Target, sent?: Sent) => Decision {
  const ruled = new WeakMap<Target, Decision | 'none'>();

  function byRules(target: Target): Decision | 'none' {
    const known = ruled.get(target);
    if (known) return known;
    const decision = within && !isInProfile(within.profile, target) ? outside(within) : ruledAnew(target);
    ruled.set(target, decision);
    return decision;
  }

  function ruledAnew(target: Target): Decision | 'none' {
    const each = target.servers.map((server) =>
      strictest([
        ...globalRules(policy, target, server),
        ...serverRules(policy.servers, target, server),
        ...(within ? profileRules({ ...within, groups: policy.groups }, target, server) : []),
      ]),
    );
    return agreed(each) ?? 'none';
  }

  function decideAnew(target: Target, sent: Sent | undefined): Decision {
    const decision = byRules(target);
    const { builtin, readOnly } = target.facts;
    if (builtin && readOnly && (decision === 'none' || decision.effect !== 'deny')) return BUILT_IN;
    return decision === 'none' ? byMode(policy.mode, target, sent) : decision;
  }

  // One call is decided on by more than one stage, right after another.
  let last: Decided | undefined;
  return function decide(target, sent) {
    if (last?.target === target && isSame(last, sent)) return last.decision;
    last = {
      target,
      input: sent?.input,
      meta: sent?.meta,
      beside: sent?.extraParams,
      decision: decideAnew(target, sent),
    };
    return last.decision;
  };
}

/** A decision with what it was about. It does not keep the call itself alive. */
interface Decided {
  readonly target: Target;
  readonly input: JsonObject | undefined;
  readonly meta: JsonObject | undefined;
  readonly beside: JsonObject | undefined;
  readonly decision: Decision;
}

const isSame = (last: Decided, sent: Sent | undefined): boolean =>
  last.input === sent?.input && last.meta === sent?.meta && last.beside === sent?.extraParams;

const outside = ({ name }: Within): Decision => ({
  effect: 'deny',
  rule: `profiles.${name}`,
  reason: `It is not in the profile ${name}.`,
});

const profileRules = (
  { name, profile: { permissions }, groups }: Within & Pick<Policy, 'groups'>,
  target: Target,
  server: string,
): readonly Decision[] =>
  globalRules({ permissions, groups }, target, server).map((one) => ({ ...one, rule: `profiles.${name}.${one.rule}` }));

/** Whether this caller can have nothing of a server: then it is not started to look, and is not known to them. */
export function hidesServer(policy: Policy, { profile }: Caller, server: string): boolean {
  if (deniesServer(policy, server)) return true;
  if (profile === undefined) return false;
  const found = policy.profiles?.get(profile);
  return !found || deniesServer(found, server) || !mayHaveOf(found, server, policy.pools?.get(server));
}

/** Whether every tool of a server is denied to everyone: then it is not started to look. */
export function deniesServer({ permissions }: Pick<Policy, 'permissions'>, server: string): boolean {
  return permissions.deny.some((pattern) => pattern === `mcp__${server}` || pattern === `mcp__${server}__*`);
}

const strictest = (decisions: readonly Decision[]): Decision | undefined =>
  STRICTEST.map((effect) => decisions.find((decision) => decision.effect === effect)).find(Boolean);

/** Any server of a pool can refuse for all of them; to allow takes every one, since any may get the call. */
function agreed(each: readonly (Decision | undefined)[]): Decision | undefined {
  const found = strictest(each.filter((decision) => decision !== undefined));
  return found?.effect === 'allow' && each.includes(undefined) ? undefined : found;
}

function globalRules(
  { permissions, groups }: Pick<Policy, 'permissions' | 'groups'>,
  target: Target,
  server: string,
): readonly Decision[] {
  const allows = (pattern: string) => names(pattern, target, server) && !isOfAnother(pattern, target, groups);
  return STRICTEST.flatMap((effect) => {
    const pattern =
      effect === 'allow'
        ? permissions.allow.find(allows)
        : restrictionsOf(permissions[effect]).find((rule) => restricts(rule, target, server))?.pattern;
    if (!pattern) return [];
    return [{ effect, rule: `permissions.${effect}: ${pattern}`, reason: `The rule ${pattern} says ${effect}.` }];
  });
}

/** An exact public name, `mcp__server`, or `mcp__server__*`; a pool is named like a server. */
function names(pattern: string, target: Target, server: string): boolean {
  const { publicName, servers } = target;
  const group = groupOf(pattern);
  // A server chooses its URIs: one that reads like the name of a tool is not meant by it.
  if (pattern === publicName && !(isResource(target) && pattern.startsWith('mcp__'))) return true;
  // `mcp__a__b` may be meant for the tool b of a: it does not open the server a__b, which `mcp__a__b__*` would.
  const wholeServer = group === `mcp__${server}` && (pattern !== group || !server.includes('__'));
  if (wholeServer) return true;
  return servers.length > 1 && group === `mcp__${target.group}`;
}

/**
 * `mcp__a__b__c` can be read as b__c of the server a and as c of a__b. It means the longest that is configured, so that
 * nobody else comes by what was allowed to a server while that is away.
 */
function isOfAnother(pattern: string, { publicName, group }: Target, groups: Policy['groups'] = NONE): boolean {
  if (pattern !== publicName || group === undefined) return false;
  return [...groups].some((other) => other.length > group.length && pattern.startsWith(`mcp__${other}__`));
}

/**
 * In doubt more than was written: it by its server's name for it and by that of configuration, whatever it is called
 * now that it has met others, and all of a pool.
 */
function restricts(rule: Restriction, target: Target, server: string): boolean {
  const { pattern } = rule;
  const { publicName, servers, group, shownAs } = target;
  if (names(pattern, target, server)) return true;
  if (namesAt(target, server).some((name) => pattern === `mcp__${server}__${name}`)) return true;
  if (restrictsResource(rule, target, server)) return true;
  if (pattern === `mcp__${group}__${shownAs}`) return true;
  if (servers.length === 1) return false;
  return groupOf(pattern) === `mcp__${group}` || publicName.startsWith(`${groupOf(pattern)}__`);
}

const groupOf = (pattern: string) => (pattern.endsWith('__*') ? pattern.slice(0, -3) : pattern);

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

/** Each entry is a URI, or a template of those that are meant. */
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

function byMode(mode: Policy['mode'], target: Target, sent: Sent | undefined): Decision {
  if (mode === 'open') return OPEN;
  const rule = `mode ${mode}`;
  if (mode === 'strict') return { effect: 'ask', rule, reason: `Every external ${target.kind} asks in mode strict.` };
  const worry = worryOf(target, sent);
  return worry ? { effect: 'ask', rule, reason: worry } : UNSUSPICIOUS;
}

function worryOf({ kind, facts }: Target, sent: Sent | undefined): string | undefined {
  if (facts.requiresApproval) return 'The tool asks for approval.';
  if (facts.destructive) return 'The tool says that it can destroy something.';
  if (facts.riskLevel === 'high') return 'The tool is of high risk.';
  return sent && kind === 'tool' ? sensitiveIn(sent, !facts.readOnly) : undefined;
}
