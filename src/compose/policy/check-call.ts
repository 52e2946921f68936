import { findEvenHidden } from '../../catalog/find.ts';
import type { Caller, CallKind, Decision, Target } from '../../core/call.ts';
import type { CheckedCall, PolicyCheck, RuleVerdict } from '../../core/records/policy.ts';
import { modeFor } from '../../govern/decide.ts';
import { decideByMode } from '../../govern/policy/mode-rules.ts';
import { matchingPermissions } from '../../govern/policy/permission-rules.ts';
import { ruleSet } from '../../govern/policy/rule-set.ts';
import type { Sent } from '../../govern/sensitive.ts';
import type { ActiveConfig } from '../active-config.ts';
import { checkApproval } from './check-approval.ts';
import type { DecidedCheck, PolicyCheckOptions } from './decided-check.ts';
import { type LocateRule, ruleLocations } from './rule-locations.ts';
import { subjectCaller } from './subject-caller.ts';

/** Decides on a call without making it, and returns the verdict of each rule. Sessions have no labels here. */
export async function checkCall(options: PolicyCheckOptions, by: Caller, call: CheckedCall): Promise<PolicyCheck> {
  const active = options.active();
  const decided = await decideOn(options, by, call);
  const { target, decision } = decided;
  const verdicts = verdictsOf(active, decided, await ruleLocations(active.config));
  const { effect, rule, reason } = decision;
  return { name: target.publicName, effect, rule, reason, verdicts, ...(await checkApproval(options, decided)) };
}

async function decideOn(options: PolicyCheckOptions, by: Caller, { name, input, as = {}, signal }: CheckedCall) {
  const caller = await subjectCaller(options, by, as);
  const target = await findTarget(options, { by, caller, name, signal });
  const kind: CallKind = target.kind === 'template' ? 'resource' : target.kind;
  const sent: Sent = {
    kind,
    input: typeof input === 'function' ? input(target) : input,
    taint: [],
    time: options.clock(),
  };
  const decided: DecidedCheck = { caller, target, kind, sent, decision: options.active().decide(caller, target, sent) };
  return decided;
}

interface Wanted extends Pick<CheckedCall, 'name' | 'signal'> {
  readonly by: Caller;
  readonly caller: Caller;
}

/** Finds a tool, also one that is hidden from the caller: `describe` connects its server first. */
async function findTarget(options: PolicyCheckOptions, { by, caller, name, signal }: Wanted): Promise<Target> {
  const visible = (target: Target) => options.active().decide(caller, target).effect !== 'deny';
  const find = () => findEvenHidden(options.catalog.current(caller), { kind: 'tool', name }, visible);
  const found = find();
  if (found) return found;
  return options.describe(by, name, signal).catch((thrown) => {
    const connected = find();
    if (connected) return connected;
    throw thrown;
  });
}

function verdictsOf({ policy }: ActiveConfig, decided: DecidedCheck, locate: LocateRule): readonly RuleVerdict[] {
  const { caller, target, kind, sent, decision } = decided;
  const profile = caller.profile === undefined ? undefined : policy.profiles?.get(caller.profile);
  const named = profile && { name: caller.profile ?? '', profile };
  const byName = matchingPermissions(policy, named, target).map((one) => toVerdict(one, locate));
  const byRules =
    ruleSet(policy.rules ?? [], { groups: policy.groups })?.verdicts({ caller, target, kind, sent }) ?? [];
  const mode = modeFor(policy, named, target);
  const isByMode = ![...byName, ...byRules].some(({ rule, matches }) => matches !== 'no' && rule === decision.rule);
  const byMode = isByMode ? decision : decideByMode(mode, target);
  return [...byName, ...byRules, { ...toVerdict(byMode, locate), matches: isByMode ? 'yes' : 'no' }];
}

function toVerdict({ rule, effect, reason }: Decision, locate: LocateRule): RuleVerdict {
  const at = locate(rule);
  return { rule, effect, matches: 'yes', reason, ...(at && { at }) };
}
