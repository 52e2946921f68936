import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { plainSet } from './plain-set.ts';
import { checkBudget, type StepBudget } from './step-budget.ts';

type Matches = (value: unknown) => boolean;

// Keywords without effect on validity; formats are not checked.
const ANNOTATIONS = ['$comment', '$schema', 'title', 'description', 'default', 'examples', 'deprecated'];
const CONSTRAINTS: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  null: [],
};

/**
 * Compiles a fast check for schemas that use only the simplest keywords. An input that it accepts is valid.
 * Returns undefined when the schema has any other keyword; the thorough check takes such schemas.
 * The check visits each value of the input once, and throws when that takes more steps than the budget has left.
 */
export function fastCheck(schema: Json | undefined, budget: StepBudget = checkBudget()): Matches | undefined {
  if (!isObject(schema)) return undefined;
  const { type, enum: values } = schema;
  if (type !== undefined && (typeof type !== 'string' || !Object.hasOwn(CONSTRAINTS, type))) return undefined;
  const limits = ['type', 'enum', ...(type === undefined ? [] : (CONSTRAINTS[type] ?? []))];
  if (!Object.entries(schema).every(([keyword, value]) => limits.includes(keyword) || isAnnotation(keyword, value)))
    return undefined;
  const typed = type === undefined ? MATCHES_ALL : matcherOf(type, schema, budget);
  if (values === undefined) return typed;
  if (!typed || !isList(values) || values.length === 0 || values.some(isNested)) return undefined;
  const allowed = plainSet(values);
  return (value) => typed(value) && allowed.has(value);
}

// A schema inside an annotation could define an `$id`, so the compiler decides.
function isAnnotation(keyword: string, value: Json | undefined): boolean {
  if (keyword === 'format') return typeof value === 'string';
  return ANNOTATIONS.includes(keyword) && (keyword === 'default' || !isObject(value));
}

const MATCHES_ALL: Matches = () => true;
const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);
const isNested = (value: Json) => typeof value === 'object' && value !== null;

function matcherOf(type: string, schema: JsonObject, budget: StepBudget): Matches | undefined {
  switch (type) {
    case 'object':
      return objectMatcher(schema, budget);
    case 'array':
      return arrayMatcher(schema, budget);
    case 'string':
      return stringMatcher(schema);
    case 'number':
      return numberMatcher(schema, Number.isFinite);
    case 'integer':
      return numberMatcher(schema, Number.isInteger);
    case 'boolean':
      return (value) => typeof value === 'boolean';
    default:
      return (value) => value === null;
  }
}

function objectMatcher(schema: JsonObject, budget: StepBudget): Matches | undefined {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  if (!isObject(properties) || !isList(required) || typeof additionalProperties !== 'boolean') return undefined;
  const parts = new Map<string, Matches>();
  for (const [name, each] of Object.entries(properties)) {
    const part = fastCheck(each, budget);
    if (!part || name === '__proto__') return undefined;
    parts.set(name, part);
  }
  if (!required.every((name) => typeof name === 'string')) return undefined;
  // Removes repeated names: a list may repeat one thousands of times.
  const needed = [...new Set<string>(required)];
  const fitsAt = (own: Values, name: string) => {
    const part = parts.get(name);
    return part ? own[name] === undefined || part(own[name]) : additionalProperties;
  };
  return (value) => {
    if (!isValues(value)) return false;
    const names = Object.keys(value);
    budget.take(1 + names.length);
    return (
      needed.every((name) => Object.hasOwn(value, name) && value[name] !== undefined) &&
      names.every((name) => fitsAt(value, name))
    );
  };
}

type Values = Readonly<Record<string, unknown>>;
const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function arrayMatcher({ items = {}, minItems, maxItems }: JsonObject, budget: StepBudget): Matches | undefined {
  const each = fastCheck(items, budget);
  const counted = within(minItems, maxItems);
  if (!each || !counted) return undefined;
  return (value) => {
    if (!Array.isArray(value) || !counted(value.length)) return false;
    budget.take(value.length);
    return Array.from(value).every(each);
  };
}

function stringMatcher({ minLength, maxLength }: JsonObject): Matches | undefined {
  const counted = within(minLength, maxLength);
  if (minLength === undefined && maxLength === undefined) return (value) => typeof value === 'string';
  return counted && ((value) => typeof value === 'string' && counted(charactersOf(value)));
}

/** Returns the number of Unicode code points. A surrogate pair counts as one. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function numberMatcher({ minimum, maximum }: JsonObject, isNumber: Matches): Matches | undefined {
  const limited = within(minimum, maximum);
  return limited && ((value) => isNumber(value) && limited(value as number));
}

function within(
  least: Json | undefined = Number.NEGATIVE_INFINITY,
  most: Json | undefined = Number.POSITIVE_INFINITY,
): ((value: number) => boolean) | undefined {
  if (typeof least !== 'number' || typeof most !== 'number') return undefined;
  return (value) => value >= least && value <= most;
}
