import type { Json, JsonObject } from '../../../core/call.ts';
import type { Mapping, StepCondition, Workflow } from '../../definition/canonical.ts';
import { evaluateCondition, evaluateMapping, namesIn } from '../../expressions/evaluate-mapping.ts';
import type { RunScope } from '../../expressions/run-scope.ts';
import { classicView, richView } from '../../expressions/step-view.ts';
import type { ExecutionParts } from './frame.ts';
import type { StepScope, StepState } from './step-scope.ts';

type Form = Workflow['form'];

/** Evaluates a mapping. Loads only the values that it reads. Throws EXPRESSION_FAILED. */
export async function evaluate(execution: ExecutionParts, scope: StepScope, mapping: Mapping): Promise<Json> {
  const { durable, form } = execution;
  await durable.yieldTurn();
  return evaluateMapping(mapping, await loadNames(scope, namesIn(mapping), form), form);
}

/** Evaluates a condition. Throws EXPRESSION_FAILED. */
export async function holds(execution: ExecutionParts, scope: StepScope, condition: StepCondition): Promise<boolean> {
  const { durable, form } = execution;
  await durable.yieldTurn();
  return evaluateCondition(condition, await loadNames(scope, namesIn(condition), form), form);
}

async function loadNames(scope: StepScope, names: ReadonlySet<string>, form: Form): Promise<RunScope> {
  const values = new Map<string, Json>();
  for (const name of names) {
    const entry = scope.find(name);
    if (entry) values.set(name, 'state' in entry ? await stepView(entry.state, form) : await entry.value());
  }
  return { get: (name) => values.get(name), names: scope.names };
}

/** Returns the value of `$step`. */
export async function stepView(state: StepState, form: Form): Promise<JsonObject> {
  const { status, error, attempts, startedAt, endedAt, fields } = state;
  const raw = state.call && ((await state.raw?.()) as JsonObject | undefined);
  const outcome = {
    ...{ status, attempts, startedAt, endedAt, result: await state.result() },
    ...(error && { error }),
    ...(fields && { output: fields }),
    ...(raw && state.call && { call: { raw, server: state.call.server, latencyMs: state.call.latencyMs } }),
  };
  return form === 'classic' ? classicView(outcome) : richView(outcome);
}
