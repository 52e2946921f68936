import type { ConditionResult } from '../../cel/condition.ts';
import type { LoadedPolicy } from '../../config/config.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import type { Taint } from '../../core/call/facts.ts';
import type { Decision, Effect, Target } from '../../core/call.ts';
import { type Decide, decider, type Policy } from '../decide.ts';
import { conditionValues, managedView } from './condition-values.ts';
import { matchesCallers } from './match.ts';
import type { RecordedCall } from './recorded-call.ts';
import { type RulesFor, ruleIndex } from './rule-index.ts';

/** The effects of the current and the candidate rules on a call; undefined if they depend on an unknown value. */
export interface SimulatedCall {
  readonly before: Effect;
  readonly after: Effect;
  /** The rule that decided by the candidate rules. */
  readonly rule: string;
}

/** The effect that rules with an unknown result may have together. */
type Level = Effect | 'none';

const TAINTS: readonly (readonly Taint[])[] = [[], ['private'], ['untrusted'], ['private', 'untrusted']];
const MAX_DECIDERS = 500;

/**
 * Returns the simulation of two policies. A call with unknown values is decided for each effect that the rules on these
 * values may have. A rule that both policies share has the same effect in both.
 */
export function simulation(current: Policy, candidate: Policy): (call: RecordedCall) => SimulatedCall | undefined {
  const [before, after] = [side(current), side(candidate)];

  function outcome(call: RecordedCall, one: Assumption, two: Assumption): SimulatedCall {
    const [first, second] = [before.decide(call, one), after.decide(call, two)];
    return { before: first.effect, after: second.effect, rule: second.rule };
  }

  return function simulate(call) {
    if (!call.isPartial) return outcome(call, NO_ASSUMPTION, NO_ASSUMPTION);
    const [unknown, other] = [before.unknownRules(call), after.unknownRules(call)];
    const [first, ...others] = assumptionsOf(unknown, other).flatMap(([one, two]) => {
      const calls = call.mayBeSensitive ? [call, { ...call, sent: withSensitive(call.sent) }] : [call];
      return calls.map((each) => outcome(each, one, two));
    });
    return first && others.every((one) => changeOf(one) === changeOf(first)) ? first : undefined;
  };
}

/** Rules without a known result, and the effects that they are assumed to have. */
interface Assumption {
  readonly unknown: readonly LoadedPolicy[];
  readonly levels: readonly Level[];
}

const NO_ASSUMPTION: Assumption = { unknown: [], levels: [] };

/** Returns every combination of effects that the unknown rules of both policies may have. */
function assumptionsOf(
  unknown: readonly LoadedPolicy[],
  other: readonly LoadedPolicy[],
): readonly (readonly [Assumption, Assumption])[] {
  const shared = unknown.filter((rule) => other.includes(rule));
  const isOwn = (rule: LoadedPolicy) => !shared.includes(rule);
  const [own, theirs] = [levelsOf(unknown.filter(isOwn)), levelsOf(other.filter(isOwn))];
  return levelsOf(shared).flatMap((both) =>
    own.flatMap((one) =>
      theirs.map(
        (two) =>
          [
            { unknown, levels: [both, one] },
            { unknown: other, levels: [both, two] },
          ] as const,
      ),
    ),
  );
}

/** Returns the kind of change: none, or the new effect. */
export const changeOf = ({ before, after }: SimulatedCall): Effect | 'unchanged' =>
  before === after ? 'unchanged' : after;

/** A condition on an unknown value holds, does not hold, or fails, which denies. */
const levelsOf = (rules: readonly LoadedPolicy[]): readonly Level[] =>
  rules.length === 0 ? ['none'] : [...new Set<Level>(['none', 'deny', ...rules.map(({ effect }) => effect)])];

/** Adds an argument that looks sensitive. Only mode guarded reads it, for a tool that no rule decides on. */
const withSensitive = (sent: RecordedCall['sent']): RecordedCall['sent'] => ({
  ...sent,
  meta: { ...sent.meta, password: '' },
});

interface Side {
  /** Returns the matching rules whose conditions have no result, because they read an unknown value. */
  unknownRules(call: RecordedCall): readonly LoadedPolicy[];
  /** Decides as if the rules with unknown results had these effects. */
  decide(call: RecordedCall, assumption: Assumption): Decision;
}

function side(policy: Policy): Side {
  const rules = (policy.rules ?? []).filter(({ shadow }) => !shadow);
  const rulesFor: RulesFor = ruleIndex(rules, policy.groups);
  const decideAll = decider(policy);
  const assumed = new BoundedMap<string, Decide>(MAX_DECIDERS);

  function unknownRules(call: RecordedCall): readonly LoadedPolicy[] {
    const { input, taint, time } = call.sent;
    // There are few sets of labels: if the condition has the same result for all, it does not depend on them.
    const valuesOf = (target: Target) =>
      (call.noTaint ? TAINTS : [taint]).map((labels) =>
        conditionValues({ ...call, target, input, taint: labels }, time),
      );
    const values = { own: valuesOf(call.target), managed: valuesOf(managedView(call.target)) };
    return rulesFor(call.target).filter(({ callers, condition, scope }) => {
      if (!condition || (callers && !matchesCallers(callers, call.caller))) return false;
      const results = values[scope === 'enterprise' ? 'managed' : 'own'].map((one) => condition.evaluate(one));
      return results.some((one) => isUnknownResult(one) || !isSameResult(one, results[0]));
    });
  }

  function deciderWith({ unknown, levels }: Assumption): Decide {
    const key = JSON.stringify([unknown.map(({ name }) => name), levels]);
    const found = assumed.get(key);
    if (found) return found;
    const known = rules.filter((rule) => !unknown.includes(rule));
    const made = decider({ ...policy, rules: [...known, ...levels.flatMap(assumedRule)] });
    assumed.set(key, made);
    return made;
  }

  return {
    unknownRules,
    decide(call, assumption) {
      const decide = assumption.unknown.length === 0 ? decideAll : deciderWith(assumption);
      return decide(call.caller, call.target, call.sent);
    },
  };
}

const isSameResult = (one: ConditionResult, other: ConditionResult | undefined): boolean =>
  one === other || (typeof one === 'object' && typeof other === 'object');
const isUnknownResult = (result: ConditionResult): boolean => typeof result === 'object' && result.isUnknown === true;

const AT = { file: '', line: 0, column: 0 };

/** Returns a rule that has the effect on every call. */
const assumedRule = (effect: Level): readonly LoadedPolicy[] =>
  effect === 'none' ? [] : [{ name: `assumed ${effect}`, effect, reason: 'Assumed.', scope: 'default', at: AT }];
