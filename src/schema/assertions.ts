import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { countedJson } from './counted-json.ts';
import { enumMatcher } from './enum-matcher.ts';
import { type CompileContext, type Evaluation, fails, isEnough, type Matches } from './evaluation.ts';
import { plainSet } from './plain-set.ts';
import type { StepBudget } from './step-budget.ts';

/** Compiles one keyword. Throws an Error if its value is no valid one. */
export type CompileKeyword = (value: Json, schema: JsonObject, context: CompileContext) => Matches;

type IsType = (value: Json) => boolean;

const TYPES: Readonly<Record<string, IsType>> = {
  string: (value) => typeof value === 'string',
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: (value) => isObject(value),
};

/** The keywords that compare a value without looking into its parts by other schemas. */
export const ASSERTIONS: Readonly<Record<string, CompileKeyword>> = {
  type(written) {
    const names = [...new Set(Array.isArray(written) ? written : [written])] as readonly string[];
    const tests = names.map((name) => (Object.hasOwn(TYPES, name) ? TYPES[name] : undefined));
    if (tests.length === 0 || tests.includes(undefined)) throw new Error('type must be JSONType or JSONType[]');
    const rule = `must be ${names.join(' or ')}`;
    const [only] = tests as IsType[];
    const isType = tests.length === 1 && only ? only : (value: Json) => tests.some((test) => test?.(value));
    return (value, state) => isType(value) || fails(state, { keyword: 'type', rule, value });
  },
  enum(written, _, { budget }) {
    if (!Array.isArray(written)) throw new Error('enum must be an array');
    const isAllowed = enumMatcher(written, budget);
    const rule = `must be one of ${cutJson(written)}`;
    return (value, state) => isAllowed(value) || fails(state, { keyword: 'enum', rule, value });
  },
  const(written, _, { budget }) {
    const isAllowed = enumMatcher([written], budget);
    const rule = `must be ${cutJson(written)}`;
    return (value, state) => isAllowed(value) || fails(state, { keyword: 'const', rule, value });
  },
  multipleOf: ofNumber('multipleOf', 'multiple of', (value, limit) => Number.isInteger(value / limit)),
  maximum: ofNumber('maximum', '<=', (value, limit) => value <= limit),
  exclusiveMaximum: ofNumber('exclusiveMaximum', '<', (value, limit) => value < limit),
  minimum: ofNumber('minimum', '>=', (value, limit) => value >= limit),
  exclusiveMinimum: ofNumber('exclusiveMinimum', '>', (value, limit) => value > limit),
  maxLength: ofSize('maxLength', 'more', 'characters'),
  minLength: ofSize('minLength', 'fewer', 'characters'),
  maxItems: ofSize('maxItems', 'more', 'items'),
  minItems: ofSize('minItems', 'fewer', 'items'),
  maxProperties: ofSize('maxProperties', 'more', 'properties'),
  minProperties: ofSize('minProperties', 'fewer', 'properties'),
  pattern(written, _, { patternOf }) {
    if (typeof written !== 'string') throw new Error('pattern must be a string');
    const pattern = patternOf(written);
    const rule = `must match pattern "${written}"`;
    return (value, state) =>
      typeof value !== 'string' || pattern.test(value) || fails(state, { keyword: 'pattern', rule, value });
  },
  uniqueItems(written) {
    const rule = 'must not have the same item twice';
    return (value, state) =>
      written !== true ||
      !Array.isArray(value) ||
      areUnique(value, state.budget) ||
      fails(state, { keyword: 'uniqueItems', rule, value });
  },
  required(written) {
    const names = namesIn('required', written);
    return (value, state) => {
      if (!isObject(value)) return true;
      state.budget.take(names.length);
      return hasAll(names, value, state);
    };
  },
  dependentRequired: (written) => dependentRequired(written),
};

/** Compiles the lists of `dependentRequired`, and of `dependencies` in older drafts. */
export function dependentRequired(written: Json): Matches {
  if (!isObject(written)) throw new Error('dependentRequired must be an object');
  const lists = Object.entries(written).map(([name, list]) => [name, namesIn(name, list ?? null)] as const);
  return (value, state) => {
    if (!isObject(value)) return true;
    state.budget.take(lists.length);
    let fits = true;
    for (const [name, names] of lists) {
      if (!Object.hasOwn(value, name)) continue;
      state.budget.take(1 + names.length);
      fits = hasAll(names, value, state) && fits;
    }
    return fits;
  };
}

function hasAll(names: readonly string[], value: JsonObject, state: Evaluation): boolean {
  let fits = true;
  for (const property of names) {
    if (Object.hasOwn(value, property) && value[property] !== undefined) continue;
    fits = fails(state, { keyword: 'required', rule: 'lacks', value, property });
    if (isEnough(state)) return false;
  }
  return fits;
}

function namesIn(keyword: string, written: Json): readonly string[] {
  if (Array.isArray(written) && written.every((name) => typeof name === 'string')) return written;
  throw new Error(`${keyword} must be a list of names`);
}

function ofNumber(keyword: string, words: string, holds: (value: number, limit: number) => boolean): CompileKeyword {
  return (limit) => {
    if (typeof limit !== 'number' || (keyword === 'multipleOf' && limit <= 0))
      throw new Error(`${keyword} must be number`);
    const rule = `must be ${words} ${limit}`;
    return (value, state) => typeof value !== 'number' || holds(value, limit) || fails(state, { keyword, rule, value });
  };
}

/** Returns the size of a value and the steps of counting it; undefined if the keyword is not about it. */
const SIZES: Readonly<Record<string, (value: Json) => { size: number; steps: number } | undefined>> = {
  characters: (value) =>
    typeof value === 'string' ? { size: charactersOf(value), steps: value.length >> 2 } : undefined,
  items: (value) => (Array.isArray(value) ? { size: value.length, steps: 0 } : undefined),
  properties: (value) =>
    isObject(value) ? { size: Object.keys(value).length, steps: stepsOverKeys(value) } : undefined,
};

function ofSize(keyword: string, than: 'more' | 'fewer', noun: string): CompileKeyword {
  return (limit) => {
    if (typeof limit !== 'number' || limit < 0) throw new Error(`${keyword} must be number`);
    const rule = `must NOT have ${than} than ${limit} ${noun}`;
    return (value, state) => {
      const found = SIZES[noun]?.(value);
      if (!found) return true;
      state.budget.take(found.steps);
      const fits = than === 'more' ? found.size <= limit : found.size >= limit;
      return fits || fails(state, { keyword, rule, value });
    };
  };
}

/** Returns the number of Unicode code points. A surrogate pair counts as one. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const MANY_KEYS = 1_000;

/** Counts the work of listing the keys of an object. Large objects, and keys that are numbers, take several times as long. */
export function stepsOverKeys(value: JsonObject): number {
  let count = 0;
  let steps = 1;
  for (const key in value) {
    count++;
    steps += (isDigit(key.charCodeAt(0)) ? 6 : 2) + (key.length >> 6);
  }
  return count > MANY_KEYS ? steps * 4 : steps;
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

function areUnique(items: readonly Json[], budget: StepBudget): boolean {
  const plain = plainSet([]);
  const nested = new Set<string>();
  for (const item of items) {
    if (typeof item === 'object' && item !== null) nested.add(countedJson(item, budget));
    else {
      budget.take(6 + (typeof item === 'string' ? item.length >> 4 : 0));
      plain.add(item);
    }
  }
  return plain.size() + nested.size === items.length;
}

const MAX_ALLOWED_CHARS = 2_000;

function cutJson(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > MAX_ALLOWED_CHARS ? `${text.slice(0, MAX_ALLOWED_CHARS)}…` : text;
}
