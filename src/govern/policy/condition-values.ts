import type { ConditionValues } from '../../cel/condition.ts';
import type { Taint } from '../../core/call/facts.ts';
import { knownCategory } from '../../core/call/known-category.ts';
import type { CallKind, JsonObject, ResolvedCall, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** A call as conditions see it. */
export type ConditionedCall = Pick<ResolvedCall, 'kind' | 'target' | 'input' | 'caller'> & {
  readonly taint?: readonly Taint[] | undefined;
};

const NOTHING: JsonObject = {};
const UNLABELLED: readonly Taint[] = [];

/** Returns the kind of call that calls or reads a target. */
export const kindOf = ({ kind }: Target): CallKind => (kind === 'template' ? 'resource' : kind);

/** Returns the values of the variables of a condition for one call. */
export function conditionValues(call: ConditionedCall, now: number): ConditionValues {
  const { kind, target, input, taint = UNLABELLED } = call;
  const { id, roles, via, profile = '', agent = '' } = call.caller;
  const { annotations } = target.definition;
  return {
    caller: { id, roles, via, profile, agent },
    tool: toolValues(target),
    kind,
    args: input,
    annotations: isObject(annotations) ? annotations : NOTHING,
    taint,
    time: new Date(now),
  };
}

const managed = new WeakMap<Target, Target>();

/** Returns a target as an organisation's rules see it: settings of the user do not make its facts milder. */
export function managedView(target: Target): Target {
  const { forManagedRules: facts } = target.facts;
  if (!facts) return target;
  const view = managed.get(target) ?? { ...target, facts };
  managed.set(target, view);
  return view;
}

const known = new WeakMap<Target, ConditionValues['tool']>();

function toolValues(target: Target): ConditionValues['tool'] {
  const found = known.get(target);
  if (found) return found;
  const { publicName, name, servers, kind, group, facts } = target;
  const { costPerCall = 0, requires = [], riskLevel, readOnly, destructive, idempotent, openWorld } = facts;
  const values = {
    ...{ name: publicName, ownName: name, server: group ?? servers[0], servers, kind },
    category: knownCategory(facts),
    ...{ riskLevel, readOnly, destructive, idempotent, openWorld, costPerCall, requires },
    requiresApproval: facts.requiresApproval,
    builtin: facts.builtin,
  };
  known.set(target, values);
  return values;
}
