import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { APPLICATORS } from './applicators.ts';
import { ASSERTIONS, type CompileKeyword } from './assertions.ts';
import { COMBINATORS } from './combinators.ts';
import {
  type CompileContext,
  fails,
  freshEvaluated,
  isEnough,
  type Matches,
  type SchemaProblem,
} from './evaluation.ts';
import { patternsOf } from './safe-pattern.ts';
import { indexSchema, type SchemaIndex, type SchemaResource } from './schema-index.ts';
import type { StepBudget } from './step-budget.ts';

/** All keywords in the order in which they are checked. `unevaluated…` come last: they depend on all others. */
const KEYWORDS: ReadonlyMap<string, CompileKeyword> = new Map(
  Object.entries({
    ...ASSERTIONS,
    ...COMBINATORS,
    ...without(APPLICATORS, 'unevaluatedItems', 'unevaluatedProperties'),
    unevaluatedItems: APPLICATORS.unevaluatedItems as CompileKeyword,
    unevaluatedProperties: APPLICATORS.unevaluatedProperties as CompileKeyword,
  }),
);
const SINCE_2019 = new Set(['dependentRequired', 'dependentSchemas', 'unevaluatedItems', 'unevaluatedProperties']);

/** Returns true if a value fits, and adds its problems to a list if there is one. Throws OverBudget. */
export type FindProblems = (value: Json, problems?: SchemaProblem[]) => boolean;

/**
 * Compiles a schema of draft 2020-12, or of draft 7 if its `$schema` names one up to that. Throws an Error when a keyword
 * has an invalid value or a reference leads out of the schema. Formats are not checked; unknown keywords are ignored.
 */
export function compileSchema(schema: JsonObject, budget: StepBudget): FindProblems {
  const index = indexSchema(schema);
  const tracks = !index.isOld && JSON.stringify(schema).includes('"unevaluated');
  const compileAt = compilerOf(index, budget);
  const root = index.resourceOf(schema, undefined);
  const matches = compileAt(schema, root);
  return (value, problems) => {
    const evaluated = tracks ? freshEvaluated(budget) : undefined;
    return matches(value, { budget, scope: [], path: [], problems, evaluated, references: 0 });
  };
}

function compilerOf(index: SchemaIndex, budget: StepBudget): CompileContext['compileAt'] {
  const known = new Map<JsonObject, Matches>();
  const patternOf = patternsOf(budget);

  return function compileAt(schema, parent) {
    if (typeof schema === 'boolean') return schema ? always : never;
    if (!isObject(schema)) throw new Error('a schema must be an object or a boolean');
    const done = known.get(schema);
    if (done) return done;
    const resource = index.resourceOf(schema, parent);
    let keywords: readonly Matches[] = [];
    // Known before its keywords are compiled: they may refer to it.
    const matches = entering(resource, (value, state) => {
      state.budget.take(Math.max(1, keywords.length));
      let all = true;
      for (const one of keywords) {
        if (one(value, state)) continue;
        if (isEnough(state)) return false;
        all = false;
      }
      return all;
    });
    known.set(schema, matches);
    const compile = (one: Json | undefined) => compileAt(one ?? null, resource);
    keywords = keywordsOf(schema, { index, resource, compile, compileAt, patternOf, budget });
    return matches;
  };
}

/** Adds the resource of a schema to the scope while the schema is checked. */
const entering =
  (resource: SchemaResource, matches: Matches): Matches =>
  (value, state) => {
    if (state.scope.at(-1) === resource) return matches(value, state);
    state.scope.push(resource);
    const fits = matches(value, state);
    state.scope.pop();
    return fits;
  };

function keywordsOf(schema: JsonObject, context: CompileContext): readonly Matches[] {
  const { isOld } = context.index;
  const compiled: Matches[] = [];
  for (const [keyword, compile] of KEYWORDS) {
    const value = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
    if (value === undefined || (isOld && SINCE_2019.has(keyword))) continue;
    // Draft 7 ignores all keywords beside a reference.
    if (isOld && keyword !== '$ref' && schema.$ref !== undefined) continue;
    compiled.push(compile(value, schema, context));
  }
  return compiled;
}

const always: Matches = () => true;
const never: Matches = (value, state) => fails(state, { keyword: 'false', rule: 'is not allowed', value });

function without<T extends object>(object: T, ...keys: readonly string[]): Partial<T> {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key))) as Partial<T>;
}
