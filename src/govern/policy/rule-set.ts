import type { ConditionFailure, ConditionResult, ConditionValues, ConditionVariable } from '../../cel/condition.ts';
import type { LoadedPolicy } from '../../config/config.ts';
import type { Caller, CallKind, Decision, ShadowVerdict, Target } from '../../core/call.ts';
import type { RuleVerdict } from '../../core/records/policy.ts';
import type { Clock } from '../../core/time.ts';
import type { Sent } from '../sensitive.ts';
import { conditionValues, managedView } from './condition-values.ts';
import { matchesCallers } from './match.ts';
import { type RulesFor, ruleIndex } from './rule-index.ts';

/** A call as rules see it. Without `sent` only caller, target and kind are known. */
export interface RuledCall {
  readonly caller: Caller;
  readonly target: Target;
  readonly kind: CallKind;
  readonly sent?: Sent | undefined;
}

/** The decisions of the rules that match a call, and the verdicts of those in shadow mode. */
export interface RuleMatches {
  readonly decisions: readonly Decision[];
  readonly shadow: readonly ShadowVerdict[];
}

/** The rules of `policies` and of the policy files. */
export interface RuleSet {
  /** True if a static rule looks at the caller. */
  readonly looksAtCaller: boolean;
  /** True if a rule looks at the labels of the session. */
  readonly looksAtTaint: boolean;
  /** Applies the rules on caller, tool, facts, annotations and kind. They hide what they deny. */
  applyStatic(call: RuledCall): RuleMatches;
  /** Applies the rules on arguments, labels and time. They never hide. */
  applyDynamic(call: RuledCall): RuleMatches;
  /** The names of the rules on arguments, labels or time that may match calls of a target. */
  dynamicFor(target: Target): readonly string[];
  /** The verdict of each rule, those that do not match included. */
  verdicts(call: RuledCall): readonly RuleVerdict[];
}

const DYNAMIC: readonly ConditionVariable[] = ['args', 'taint', 'time'];
const TOOL_VARIABLES: readonly ConditionVariable[] = ['tool', 'annotations', 'kind'];
/** Steps of all rules on one call: about 0.2 s. A rule that has none left fails, which denies. */
const MAX_STEPS_PER_CALL = 1_000_000;
const NO_ARGUMENTS = {};
const NOTHING: RuleMatches = { decisions: [], shadow: [] };

const looksAt = ({ condition }: LoadedPolicy, variable: ConditionVariable) =>
  condition?.variables.has(variable) === true;
const isDynamic = (rule: LoadedPolicy) => DYNAMIC.some((variable) => looksAt(rule, variable));

/** Tests whether a rule denies or asks by the facts of a tool, which a method of an extension does not have. */
const isAboutTools = (rule: LoadedPolicy) =>
  rule.effect !== 'allow' && TOOL_VARIABLES.some((variable) => looksAt(rule, variable));

export const ruleLabel = (name: string): string => `policies: ${name}`;

export interface RuleSetOptions {
  /** The names of all configured servers and pools. */
  readonly groups?: ReadonlySet<string> | undefined;
  readonly clock?: Clock;
}

/** Builds the rule set of a configuration; undefined without rules, so that calls cost nothing more. */
export function ruleSet(
  rules: readonly LoadedPolicy[],
  { groups, clock = Date.now }: RuleSetOptions = {},
): RuleSet | undefined {
  if (rules.length === 0) return undefined;
  const statics = rules.filter((rule) => !isDynamic(rule));
  const staticFor = ruleIndex(statics, groups);
  const dynamicFor = ruleIndex(rules.filter(isDynamic), groups);
  const allFor = ruleIndex(rules, groups);

  function apply(matching: readonly LoadedPolicy[], call: RuledCall, budgets?: Budgets): RuleMatches {
    if (matching.length === 0) return NOTHING;
    const resultOf = evaluator(call, clock, budgets);
    const decisions: Decision[] = [];
    const shadow: ShadowVerdict[] = [];
    for (const rule of matching) {
      const result = resultOf(rule);
      if (result === false) continue;
      const decision = decisionOf(rule, result);
      if (rule.shadow) shadow.push({ effect: decision.effect, rule: decision.rule });
      else decisions.push(decision);
    }
    return { decisions, shadow };
  }

  /** Applies rules. To a method of an extension, also the rules that deny or ask about a known tool of its server. */
  function withTools(rulesFor: RulesFor, call: RuledCall): RuleMatches {
    const { tools = [] } = call.target;
    if (tools.length === 0 || !rules.some(isAboutTools)) return apply(rulesFor(call.target), call);
    // A server may have hundreds of tools, and the rules look at the arguments for each.
    const budgets = newBudgets();
    const all = [
      apply(rulesFor(call.target), call, budgets),
      ...tools.map((target) =>
        apply(rulesFor(target).filter(isAboutTools), { ...call, target, kind: 'tool' }, budgets),
      ),
    ];
    return {
      decisions: all.flatMap(({ decisions }) => decisions),
      shadow: [...new Map(all.flatMap(({ shadow }) => shadow.map((one) => [JSON.stringify(one), one]))).values()],
    };
  }

  return {
    looksAtCaller: statics.some((rule) => rule.callers !== undefined || looksAt(rule, 'caller')),
    looksAtTaint: rules.some((rule) => looksAt(rule, 'taint')),
    applyStatic: (call) => withTools(staticFor, call),
    applyDynamic: (call) => withTools(dynamicFor, call),
    dynamicFor: (target) => dynamicFor(target).map(({ name }) => ruleLabel(name)),
    verdicts(call) {
      const matching = new Set(allFor(call.target));
      const resultOf = evaluator(call, clock);
      return rules.map((rule) => verdictOf(rule, matching.has(rule) && resultOf(rule)));
    },
  };
}

type Budget = NonNullable<ConditionValues['budget']>;

/** The steps left for the rules in force, and for those in shadow mode. */
interface Budgets {
  readonly inForce: Budget;
  readonly shadow: Budget;
}

const newBudgets = (): Budgets => ({ inForce: { left: MAX_STEPS_PER_CALL }, shadow: { left: MAX_STEPS_PER_CALL } });

/** Returns a function that applies `callers` and `when` of a rule to a call. */
function evaluator(call: RuledCall, clock: Clock, budgets?: Budgets): (rule: LoadedPolicy) => ConditionResult {
  let own: ReturnType<typeof valuesFor> | undefined;
  let managed: typeof own;
  return ({ callers, condition, shadow, scope }) => {
    if (callers && !matchesCallers(callers, call.caller)) return false;
    if (!condition) return true;
    if (scope !== 'enterprise') {
      own ??= valuesFor(call, clock, budgets);
      return condition.evaluate(own(shadow));
    }
    managed ??= valuesFor({ ...call, target: managedView(call.target) }, clock, budgets);
    return condition.evaluate(managed(shadow));
  };
}

/** Returns a function that gives the values of a call to rules in force, or to those in shadow mode. */
function valuesFor(
  call: RuledCall,
  clock: Clock,
  { inForce, shadow: onTrial }: Budgets = newBudgets(),
): (shadow: boolean | undefined) => ConditionValues {
  let values: ConditionValues | undefined;
  let shadowValues: ConditionValues | undefined;
  return (shadow) => {
    values ??= {
      ...conditionValues(toConditioned(call), call.sent?.time ?? (call.sent ? clock() : 0)),
      budget: inForce,
    };
    if (!shadow) return values;
    // Steps of their own: rules on trial must not make one in force fail.
    shadowValues ??= { ...values, budget: onTrial };
    return shadowValues;
  };
}

const toConditioned = ({ caller, target, kind, sent }: RuledCall) => ({
  ...{ caller, target, kind },
  input: sent?.input ?? NO_ARGUMENTS,
  taint: sent?.taint,
});

const isFailure = (result: ConditionResult): result is ConditionFailure => typeof result === 'object';

/** A condition without a result denies, whatever the effect of its rule is. */
function decisionOf({ name, effect, reason }: LoadedPolicy, result: ConditionResult): Decision {
  const rule = ruleLabel(name);
  return isFailure(result) ? { effect: 'deny', rule, reason: failed(name, result) } : { effect, rule, reason };
}

const failed = (name: string, { failure }: ConditionFailure) => `The condition of the rule ${name} failed: ${failure}.`;

function verdictOf(rule: LoadedPolicy, result: ConditionResult): RuleVerdict {
  const { name, effect, reason, shadow, at } = rule;
  return {
    rule: ruleLabel(name),
    effect: isFailure(result) ? 'deny' : effect,
    matches: isFailure(result) ? 'error' : result ? 'yes' : 'no',
    reason: isFailure(result) ? failed(name, result) : reason,
    ...(shadow && { isShadow: true }),
    at: { file: at.file, line: at.line },
  };
}
