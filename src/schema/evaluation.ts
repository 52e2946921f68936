import type { Json } from '../core/call.ts';
import type { SchemaIndex, SchemaResource } from './schema-index.ts';
import type { StepBudget } from './step-budget.ts';

/** A rule that a value breaks. */
export interface SchemaProblem {
  /** The keys and indexes from the checked value to the wrong one. */
  readonly path: readonly string[];
  readonly keyword: string;
  /** The rule in words, such as `must be string`. */
  readonly rule: string;
  readonly value: Json;
  /** The property that is missing or not allowed, for `required` and the like. */
  readonly property?: string;
  /** The names that are allowed beside `property`. */
  readonly known?: readonly string[];
}

/** The parts of a value that a schema has evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
export interface Evaluated {
  readonly properties: Set<string>;
  allProperties: boolean;
  /** The number of evaluated items from the first on. */
  items: number;
  readonly contained: Set<number>;
}

/** The state of one check. */
export interface Evaluation {
  readonly budget: StepBudget;
  /** The resources entered so far, the outermost first: `$dynamicRef` searches them. */
  readonly scope: SchemaResource[];
  readonly path: string[];
  /** Collects problems; undefined while only the verdict counts. */
  problems: SchemaProblem[] | undefined;
  /** Undefined if no schema has `unevaluated…`. */
  evaluated: Evaluated | undefined;
  /** The references followed since the last step into the value. */
  references: number;
}

/** Checks a value by one schema. Returns true if it fits. */
export type Matches = (value: Json, state: Evaluation) => boolean;

/** Compiles the keywords of one schema object. */
export interface CompileContext {
  readonly index: SchemaIndex;
  readonly resource: SchemaResource;
  /** Compiles a schema, each once. */
  readonly compile: (schema: Json | undefined) => Matches;
  readonly compileAt: (schema: Json, resource: SchemaResource) => Matches;
  readonly patternOf: (source: string) => { test(text: string): boolean };
  readonly budget: StepBudget;
}

const MAX_PROBLEMS = 20;
// More references than this without a step into the value lead in a circle.
const MAX_REFERENCES = 2_000;

// Creating two sets takes as long as this many steps.
const STEPS_PER_EVALUATED = 3;

export function freshEvaluated(budget: StepBudget): Evaluated {
  budget.take(STEPS_PER_EVALUATED);
  return { properties: new Set(), allProperties: false, items: 0, contained: new Set() };
}

/** Notes a problem if they are collected. Returns false. */
export function fails(state: Evaluation, problem: Omit<SchemaProblem, 'path'>): false {
  const { problems, path } = state;
  if (problems && problems.length < MAX_PROBLEMS) problems.push({ ...problem, path: [...path] });
  return false;
}

/** Returns true if the check may stop at the next part that does not fit. */
export const isEnough = ({ problems }: Evaluation): boolean => !problems || problems.length >= MAX_PROBLEMS;

/** Checks a part of a value. */
export function into(key: string | number, matches: Matches, value: Json, state: Evaluation): boolean {
  const { evaluated, references } = state;
  state.references = 0;
  if (evaluated) state.evaluated = freshEvaluated(state.budget);
  if (state.problems) state.path.push(String(key));
  const fits = matches(value, state);
  if (state.problems) state.path.pop();
  state.evaluated = evaluated;
  state.references = references;
  return fits;
}

/** Checks the same value by another schema. Only a schema that fits adds to the evaluated parts. */
export function inPlace(matches: Matches, value: Json, state: Evaluation): boolean {
  const outer = state.evaluated;
  if (!outer) return matches(value, state);
  const own = freshEvaluated(state.budget);
  state.evaluated = own;
  const fits = matches(value, state);
  state.evaluated = outer;
  if (fits) addEvaluated(outer, own, state.budget);
  return fits;
}

function addEvaluated(outer: Evaluated, own: Evaluated, budget: StepBudget): void {
  budget.take(1 + own.properties.size + own.contained.size);
  for (const name of own.properties) outer.properties.add(name);
  for (const index of own.contained) outer.contained.add(index);
  outer.allProperties ||= own.allProperties;
  outer.items = Math.max(outer.items, own.items);
}

/** Checks the same value and collects no problems. */
export function quietly(matches: Matches, value: Json, state: Evaluation): boolean {
  const { problems } = state;
  state.problems = undefined;
  const fits = inPlace(matches, value, state);
  state.problems = problems;
  return fits;
}

/** Follows a reference. Throws an Error if it leads in a circle. */
export function followReference(matches: Matches, value: Json, state: Evaluation): boolean {
  if (++state.references > MAX_REFERENCES) throw new Error('a reference leads only back to itself');
  const fits = inPlace(matches, value, state);
  state.references--;
  return fits;
}
