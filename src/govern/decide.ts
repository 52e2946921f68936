import type { Config, LoadedPolicy, ServerConfig } from '../config/config.ts';
import type { Profile, Settings } from '../config/schema/schema.ts';
import { BoundedMap } from '../core/bounded-map.ts';
import { callerName } from '../core/call/caller.ts';
import { capabilitiesKey } from '../core/call/client-capabilities.ts';
import type { Caller, CallKind, Decision, Target } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import { kindOf } from './policy/condition-values.ts';
import { matchesCallers } from './policy/match.ts';
import { argumentCheck, decideByMode, type Mode, stricterMode } from './policy/mode-rules.ts';
import {
  decideByPermissions,
  isAllowedInProfile,
  type NamedProfile,
  type PermissionRules,
  strictestOf,
} from './policy/permission-rules.ts';
import { type RuleMatches, type RuleSet, ruleSet } from './policy/rule-set.ts';
import { mayHaveOf } from './profile.ts';
import type { Sent } from './sensitive.ts';

export interface Policy extends PermissionRules {
  readonly mode: Mode;
  /** By server: the pool that it belongs to, if any. */
  readonly pools?: ReadonlyMap<string, string>;
  /** Words that make arguments look sensitive besides the built-in ones. */
  readonly sensitiveWords?: readonly string[];
  /** By name: the contents and permissions of each profile. */
  readonly profiles?: ReadonlyMap<string, Profile>;
  /** The rules of `policies` and of the policy files. */
  readonly rules?: readonly LoadedPolicy[];
  /** The servers whose results count as trusted. */
  readonly trusted?: ReadonlySet<string>;
  /** True if no rule allows calls, because one that denies may be invalid. */
  readonly hasInvalidRules?: boolean;
}

type LoadedRules = Pick<Config, 'policies' | 'onlyManagedAllow' | 'hasInvalidRules'>;

/** Collects the rules of a configuration: its own, those of each server entry, of its profiles and policies. */
export function policyOf(
  { mode, permissions, approvals, profiles }: Settings,
  configs: ReadonlyMap<string, Pick<ServerConfig, 'entry'> & Partial<Pick<ServerConfig, 'scope'>>>,
  { policies = [], onlyManagedAllow = false, hasInvalidRules = false }: LoadedRules = {},
): Policy {
  const entries = [...configs].flatMap(([name, { entry, scope }]) => (entry ? [{ name, entry, scope }] : []));
  const namesOf = (found: typeof entries) => new Set(found.map(({ name }) => name));
  const pools = entries.flatMap(({ name, entry }) => (entry.pool ? [[name, entry.pool] as const] : []));
  return {
    mode,
    permissions,
    servers: new Map(entries.map(({ name, entry }) => [name, entry.permissions])),
    pools: new Map(pools),
    groups: new Set([...configs.keys(), ...pools.map(([, pool]) => pool)]),
    sensitiveWords: approvals.sensitiveWords,
    profiles: new Map(Object.entries(profiles)),
    rules: policies,
    trusted: namesOf(entries.filter(({ entry }) => entry.trusted)),
    hasInvalidRules,
    ...(onlyManagedAllow && { cannotAllow: namesOf(entries.filter(({ scope }) => scope !== 'enterprise')) }),
  };
}

/**
 * Decides on a call of a target by a caller. Without `sent` it is the static half, a pure function of caller and target:
 * a target that it denies is hidden from the caller. With `sent` the arguments, the labels of the session and the time
 * count, too.
 */
export type Decide = (caller: Caller, target: Target, sent?: Sent) => Decision;

const BUILT_IN: Decision = { effect: 'allow', rule: 'built-in', reason: 'It comes with Heddle and only reads.' };
const MAY_BE_DENIED: Decision = {
  effect: 'ask',
  rule: 'built-in',
  reason: 'A rule of the configuration is invalid, and it may be one that denies this. `heddle doctor` names it.',
};
const ALWAYS_ASKS: Decision = {
  effect: 'ask',
  rule: 'built-in',
  reason: 'Each call of this tool needs an approval of its own: no rule, mode, standing approval or `--yes` gives it.',
};
const NOT_SHOWN: Decision = {
  effect: 'deny',
  rule: 'capabilities',
  reason: 'Its server lists it only to clients with other capabilities.',
};
const FOR_APPS: Decision = {
  effect: 'deny',
  rule: 'capabilities',
  reason: 'Its server has it for views of MCP Apps alone, and the client declares no such extension.',
};
const NOT_NAMED: Decision = {
  effect: 'deny',
  rule: 'capabilities',
  reason: 'Its server does not list it, and no tool that the caller sees names it.',
};
const NO_PROFILE: Decision = { effect: 'deny', rule: 'profiles', reason: 'There is no such profile.' };
const MAX_CALLERS = 1000;

/** Builds `decide` from a policy. The rules of a profile only hide more targets and ask for more approvals. */
export function decider(policy: Policy, clock: Clock = Date.now): Decide {
  const { groups } = policy;
  const rules = ruleSet(policy.rules ?? [], { groups, clock });
  const within = (profile?: NamedProfile) =>
    rules ? decideWithRules(policy, rules, profile) : decideWithin(policy, profile);
  const withoutProfile = within();
  const profiles = [...(policy.profiles ?? [])].map(([name, profile]) => [name, within({ name, profile })] as const);
  const byProfile = new Map(profiles);
  const isCallable = (caller: Caller, target: Target) =>
    target.invalid === undefined && decide(caller, target).effect !== 'deny';
  return decide;

  function decide(caller: Caller, target: Target, sent?: Sent): Decision {
    const { profile, capabilities } = caller;
    if (target.onlyFor && !target.onlyFor.has(capabilitiesKey(capabilities))) return NOT_SHOWN;
    if (target.extension !== undefined && !capabilities?.extensions?.[target.extension]) return FOR_APPS;
    if (target.namedBy && !target.namedBy.some((one) => isCallable(caller, one))) return NOT_NAMED;
    if (profile === undefined) return withoutProfile(caller, target, sent);
    return byProfile.get(profile)?.(caller, target, sent) ?? NO_PROFILE;
  }
}

/** Decides by the strictest rule that matches, and by the mode if none does. The static half is cached per target. */
function decideWithin(policy: Policy, profile: NamedProfile | undefined): Decide {
  const decisions = new WeakMap<Target, Decision>();
  const byArguments = argumentCheck(policy.sensitiveWords ?? []);
  const conclude = concluder(policy, profile);

  function byTarget(target: Target): Decision {
    const known = decisions.get(target);
    if (known) return known;
    const decision = conclude(target, decideByPermissions(policy, profile, target));
    decisions.set(target, decision);
    return decision;
  }

  return (_caller, target, sent) => byArguments(byTarget(target), target, sent);
}

/**
 * Returns the mode for a target. A profile may have a stricter one, which its `allow` lifts.
 */
export function modeFor(policy: Policy, named: NamedProfile | undefined, target: Target): Mode {
  const mode = stricterMode(policy.mode, named?.profile.mode ?? policy.mode);
  const isLifted = named !== undefined && mode !== policy.mode && isAllowedInProfile(policy, named, target);
  return isLifted ? policy.mode : mode;
}

/** Returns the last step of each decision: the rules, else the mode. */
function concluder(policy: Policy, named: NamedProfile | undefined) {
  return (target: Target, byRules: Decision | undefined): Decision => {
    const { builtin, readOnly, approval } = target.facts;
    if (byRules && byRules.effect !== 'allow') return byRules;
    if (approval === 'always') return ALWAYS_ASKS;
    if (byRules && !policy.hasInvalidRules) return byRules;
    if (builtin && readOnly) return policy.hasInvalidRules ? MAY_BE_DENIED : BUILT_IN;
    return decideByMode(modeFor(policy, named, target), target);
  };
}

/** The static half of a decision. */
interface StaticVerdict extends Pick<RuleMatches, 'shadow'> {
  readonly byRules: Decision | undefined;
}

/** Decides as `decideWithin`, with policies. The static half is cached per caller, kind and target. */
function decideWithRules(policy: Policy, rules: RuleSet, profile: NamedProfile | undefined): Decide {
  const verdicts = new BoundedMap<string, WeakMap<Target, StaticVerdict>>(MAX_CALLERS);
  const byArguments = argumentCheck(policy.sensitiveWords ?? []);
  const conclude = concluder(policy, profile);

  function staticVerdict(caller: Caller, target: Target, kind: CallKind): StaticVerdict {
    const key = rules.looksAtCaller ? JSON.stringify([kind, callerName(caller), caller.roles, caller.via]) : kind;
    let byTarget = verdicts.get(key);
    if (!byTarget) {
      byTarget = new WeakMap();
      verdicts.set(key, byTarget);
    }
    const known = byTarget.get(target);
    if (known) return known;
    const { decisions, shadow } = rules.applyStatic({ caller, target, kind });
    const byPermissions = decideByPermissions(policy, profile, target);
    const verdict = { byRules: strictestOf(byPermissions ? [byPermissions, ...decisions] : decisions), shadow };
    byTarget.set(target, verdict);
    return verdict;
  }

  return (caller, target, sent) => {
    const kind = sent?.kind ?? kindOf(target);
    const fixed = staticVerdict(caller, target, kind);
    if (!sent) return withShadow(conclude(target, fixed.byRules), fixed.shadow);
    const { decisions, shadow } = rules.applyDynamic({ caller, target, kind, sent });
    const byRules =
      decisions.length === 0 ? fixed.byRules : strictestOf([...decisions, ...(fixed.byRules ? [fixed.byRules] : [])]);
    const decision = byArguments(conclude(target, byRules), target, sent);
    return withShadow(decision, shadow.length === 0 ? fixed.shadow : [...fixed.shadow, ...shadow]);
  };
}

const withShadow = (decision: Decision, shadow: RuleMatches['shadow']): Decision =>
  shadow.length === 0 ? decision : { ...decision, shadow };

/** Returns true if the caller can see nothing of a server. It is then neither started for the caller nor shown. */
export function hidesServer(policy: Policy, caller: Caller, server: string): boolean {
  const { profile } = caller;
  if (deniesServer(policy, server) || deniesByRule(policy.rules ?? [], caller, server)) return true;
  if (profile === undefined) return false;
  const found = policy.profiles?.get(profile);
  return !found || deniesServer(found, server) || !mayHaveOf(found, server, policy.pools?.get(server));
}

/** Returns true if `permissions.deny` covers a whole server. It is then not started to read its lists. */
export const deniesServer = ({ permissions }: Pick<Policy, 'permissions'>, server: string): boolean =>
  permissions.deny.some((pattern) => isWhole(pattern, server));

const isWhole = (pattern: string, server: string) => pattern === `mcp__${server}` || pattern === `mcp__${server}__*`;

/** Returns true if a policy without a condition denies a whole server to a caller. */
const deniesByRule = (rules: readonly LoadedPolicy[], caller: Caller, server: string): boolean =>
  rules.some(
    ({ effect, tools, callers, when, shadow }) =>
      effect === 'deny' &&
      !shadow &&
      when === undefined &&
      (tools?.some((pattern) => isWhole(pattern, server)) ?? false) &&
      (!callers || matchesCallers(callers, caller)),
  );
