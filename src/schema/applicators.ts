import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { type CompileKeyword, dependentRequired, stepsOverKeys } from './assertions.ts';
import {
  type CompileContext,
  type Evaluation,
  fails,
  inPlace,
  into,
  isEnough,
  type Matches,
  quietly,
} from './evaluation.ts';

/** The keywords that check the properties and items of a value by other schemas. */
export const APPLICATORS: Readonly<Record<string, CompileKeyword>> = {
  properties(written, _, { compile }) {
    const parts = mapOf('properties', written, compile);
    return (value, state) => {
      if (!isObject(value)) return true;
      state.budget.take(parts.length);
      return every(parts, state, ([name, matches]) => {
        if (!Object.hasOwn(value, name) || value[name] === undefined) return true;
        state.evaluated?.properties.add(name);
        return into(name, matches, value[name], state);
      });
    };
  },
  patternProperties(written, _, context) {
    const parts = patternsIn(written, context);
    return (value, state) => {
      if (!isObject(value)) return true;
      state.budget.take(parts.length * stepsOverKeys(value));
      const names = Object.keys(value);
      return every(parts, state, ({ pattern, matches }) =>
        every(names, state, (name) => {
          if (!pattern.test(name)) return true;
          state.evaluated?.properties.add(name);
          return into(name, matches, value[name] ?? null, state);
        }),
      );
    };
  },
  additionalProperties(written, schema, context) {
    const matches = context.compile(written);
    const known = Object.keys(isObject(schema.properties) ? schema.properties : {});
    const names = new Set(known);
    const patterns = patternsIn(schema.patternProperties ?? {}, context).map(({ pattern }) => pattern);
    return (value, state) => {
      if (!isObject(value)) return true;
      state.budget.take((1 + patterns.length) * stepsOverKeys(value));
      const others = Object.keys(value).filter(
        (name) => !names.has(name) && !patterns.some((pattern) => pattern.test(name)),
      );
      if (state.evaluated) for (const name of others) state.evaluated.properties.add(name);
      return every(others, state, (property) =>
        written === false
          ? fails(state, { keyword: 'additionalProperties', rule: 'is not', value, property, known })
          : into(property, matches, value[property] ?? null, state),
      );
    };
  },
  propertyNames(written, _, { compile }) {
    const matches = compile(written);
    return (value, state) => {
      if (!isObject(value)) return true;
      state.budget.take(stepsOverKeys(value));
      return every(Object.keys(value), state, (name) => {
        const fits = quietly(matches, name, state);
        return fits || fails(state, { keyword: 'propertyNames', rule: 'has an invalid property name', value: name });
      });
    };
  },
  prefixItems: (written, _, { compile, index }) => (index.isOld ? () => true : tuple('prefixItems', written, compile)),
  items(written, schema, { compile, index }) {
    if (index.isOld && Array.isArray(written)) return tuple('items', written, compile);
    const first = !index.isOld && Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0;
    return rest(written, first, compile);
  },
  additionalItems: (written, { items }, { compile, index }) =>
    index.isOld && Array.isArray(items) ? rest(written, items.length, compile) : () => true,
  contains(written, schema, { compile, index }) {
    const matches = compile(written);
    const [least, most] = index.isOld ? [1] : [countOf(schema.minContains) ?? 1, countOf(schema.maxContains)];
    const limit = most === undefined ? '' : ` and no more than ${most}`;
    const rule = `must contain at least ${least}${limit} valid item(s)`;
    return (value, state) => {
      if (!Array.isArray(value)) return true;
      state.budget.take(value.length * 3);
      const found = value.flatMap((item: Json, at) => (isContained(matches, item, state) ? [at] : []));
      if (!index.isOld && state.evaluated) for (const at of found) state.evaluated.contained.add(at);
      const fits = found.length >= (least ?? 1) && found.length <= (most ?? Number.POSITIVE_INFINITY);
      return fits || fails(state, { keyword: 'contains', rule, value });
    };
  },
  dependentSchemas: (written, _, { compile }) => dependentSchemas(mapOf('dependentSchemas', written, compile)),
  dependencies(written, _, { compile }) {
    if (!isObject(written)) throw new Error('dependencies must be an object');
    const entries = Object.entries(written);
    const lists = Object.fromEntries(entries.filter(([, one]) => Array.isArray(one)));
    const schemas = Object.fromEntries(entries.filter(([, one]) => !Array.isArray(one)));
    const [byNames, bySchemas] = [dependentRequired(lists), dependentSchemas(mapOf('dependencies', schemas, compile))];
    return (value, state) => byNames(value, state) && bySchemas(value, state);
  },
  unevaluatedItems(written, _, { compile }) {
    const matches = compile(written);
    return (value, state) => {
      const { evaluated } = state;
      if (!Array.isArray(value) || !evaluated) return true;
      state.budget.take(value.length);
      const others = [...value.keys()].filter((at) => at >= evaluated.items && !evaluated.contained.has(at));
      const fits = every(others, state, (at) => into(at, matches, value[at], state));
      evaluated.items = Number.POSITIVE_INFINITY;
      return fits;
    };
  },
  unevaluatedProperties(written, schema, { compile }) {
    const matches = compile(written);
    const known = Object.keys(isObject(schema.properties) ? schema.properties : {});
    return (value, state) => {
      const { evaluated } = state;
      if (!isObject(value) || !evaluated) return true;
      state.budget.take(stepsOverKeys(value));
      const others = evaluated.allProperties
        ? []
        : Object.keys(value).filter((name) => !evaluated.properties.has(name));
      evaluated.allProperties = true;
      return every(others, state, (property) =>
        written === false
          ? fails(state, { keyword: 'unevaluatedProperties', rule: 'is not', value, property, known })
          : into(property, matches, value[property] ?? null, state),
      );
    };
  },
};

/** Checks all parts while problems are collected; else stops at the first that does not fit. */
export function every<T>(parts: readonly T[], state: Evaluation, fits: (part: T) => boolean): boolean {
  let all = true;
  for (const part of parts) {
    if (fits(part)) continue;
    if (isEnough(state)) return false;
    all = false;
  }
  return all;
}

function isContained(matches: Matches, item: Json, state: Evaluation): boolean {
  const { problems } = state;
  state.problems = undefined;
  const fits = into(0, matches, item, state);
  state.problems = problems;
  return fits;
}

function dependentSchemas(parts: readonly (readonly [string, Matches])[]): Matches {
  return (value, state) => {
    if (!isObject(value)) return true;
    state.budget.take(parts.length);
    return every(parts, state, ([name, matches]) => !Object.hasOwn(value, name) || inPlace(matches, value, state));
  };
}

function tuple(keyword: string, written: Json, compile: CompileContext['compile']): Matches {
  if (!Array.isArray(written)) throw new Error(`${keyword} must be an array`);
  const parts = written.map((one: Json) => compile(one));
  return (value, state) => {
    if (!Array.isArray(value)) return true;
    const { evaluated } = state;
    state.budget.take(parts.length);
    if (evaluated) evaluated.items = Math.max(evaluated.items, Math.min(parts.length, value.length));
    return every([...parts.slice(0, value.length).entries()], state, ([at, matches]) =>
      into(at, matches, value[at], state),
    );
  };
}

/** Checks the items from an index on. */
function rest(written: Json, first: number, compile: CompileContext['compile']): Matches {
  const matches = compile(written);
  return (value, state) => {
    if (!Array.isArray(value)) return true;
    state.budget.take(value.length);
    if (written === false && value.length > first)
      return fails(state, { keyword: 'items', rule: `must NOT have more than ${first} items`, value });
    let all = true;
    for (let at = first; at < value.length; at++) {
      if (into(at, matches, value[at], state)) continue;
      if (isEnough(state)) return false;
      all = false;
    }
    if (state.evaluated) state.evaluated.items = Number.POSITIVE_INFINITY;
    return all;
  };
}

function mapOf(
  keyword: string,
  written: Json,
  compile: CompileContext['compile'],
): readonly (readonly [string, Matches])[] {
  if (!isObject(written)) throw new Error(`${keyword} must be an object`);
  return Object.entries(written).map(([name, schema]) => [name, compile(schema)] as const);
}

function patternsIn(written: Json, { patternOf, compile }: CompileContext) {
  if (!isObject(written)) throw new Error('patternProperties must be an object');
  return Object.entries(written as JsonObject).map(([source, schema]) => ({
    pattern: patternOf(source),
    matches: compile(schema),
  }));
}

const countOf = (written: Json | undefined): number | undefined => (typeof written === 'number' ? written : undefined);
