import type { Json, JsonObject } from '../../../core/call.ts';
import type { RunError } from '../../../core/records/run.ts';

/** Loads a value when an expression needs it, so that large ones are not held. */
export type LazyValue = () => Promise<Json>;

/** The facts about the call of a tool step. */
export interface CallFacts {
  readonly isError: boolean;
  readonly server: string;
  readonly latencyMs: number;
}

/** The end of one attempt of a step. */
export interface StepDone {
  readonly result: LazyValue;
  /** The server's result object, for a step that calls a tool. */
  readonly raw?: LazyValue;
  readonly call?: CallFacts;
  /** Fields beside `result`, such as `ok`, `failed` and `total` of a fan-out. */
  readonly fields?: JsonObject;
  /** The steps inside, which `output` and `compensate` see. */
  readonly inner?: StepScope;
  /** True if the result is the classic `{fallback: true, error}`. It wins no race and no vote. */
  readonly isDefaultFallback?: boolean;
  /** True if no case of a switch held. */
  readonly isSkipped?: boolean;
}

/** The state of a step that has ended without stopping the run. */
export interface StepState extends StepDone {
  readonly status: 'ok' | 'skipped';
  /** The error of a step that was skipped or replaced because it failed. */
  readonly error?: RunError;
  readonly attempts: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Wraps a value that is at hand. */
export const lazy =
  (value: Json): LazyValue =>
  () =>
    Promise.resolve(value);

/** A name of a scope: a step, or a value such as `input` or `item`. */
export type ScopeEntry = { readonly state: StepState } | { readonly value: LazyValue };

/** The names that a step sees: its own scope, then the scopes around it. */
export interface StepScope {
  find(name: string): ScopeEntry | undefined;
  /** Adds an ended step. */
  addStep(id: string, state: StepState): void;
  /** The names that can be seen, for messages. */
  names(): readonly string[];
  /** The steps of this scope alone. */
  steps(): ReadonlyMap<string, StepState>;
}

/** Values of a new scope by name. */
export type ScopeValues = Readonly<Record<string, Json | LazyValue>>;

/** Opens a scope for a body or a branch. Its steps are not seen outside. */
export function openScope(around: StepScope | undefined, values: ScopeValues): StepScope {
  const steps = new Map<string, StepState>();
  return {
    ...layer(around, values, steps),
    addStep: (id, state) => void steps.set(id, state),
    steps: () => steps,
  };
}

/** Returns `$var` of a scope with further fields, which are read at each use. */
export function withVariables(scope: StepScope, fields: () => JsonObject | Promise<JsonObject>): LazyValue {
  const outer = scope.find('var');
  return async () => ({
    ...(outer && 'value' in outer ? ((await outer.value()) as JsonObject) : {}),
    ...(await fields()),
  });
}

/** Adds values to a scope. Steps belong to the scope below. */
export function withValues(scope: StepScope, values: ScopeValues): StepScope {
  return { ...layer(scope, values, new Map()), addStep: scope.addStep, steps: scope.steps };
}

function layer(
  around: StepScope | undefined,
  values: ScopeValues,
  steps: ReadonlyMap<string, StepState>,
): Pick<StepScope, 'find' | 'names'> {
  return {
    find(name) {
      const state = steps.get(name);
      if (state) return { state };
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value === undefined) return around?.find(name);
      return { value: typeof value === 'function' ? value : lazy(value) };
    },
    names: () => [...new Set([...Object.keys(values), ...steps.keys(), ...(around?.names() ?? [])])],
  };
}
