import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { AddLoss } from '../loss.ts';
import { follow, mapSchemas } from '../shape/follow.ts';
import { modernise } from '../shape/modernise.ts';
import { WRAP } from './encode-tool.ts';

export interface PlainRules {
  /** Refuses an array without `items`. */
  readonly arraysNeedItems?: boolean;
  /** The pattern of names of top-level properties. */
  readonly propertyName?: RegExp;
}

export interface PlainInput {
  readonly schema: JsonObject;
  toArguments(modelArguments: Json): Json;
}

const AT = '/inputSchema';
const MAX_FOLLOWED = 16;
// Dialects that take JSON Schema still need an object without these keywords at the root.
const NOT_ON_TOP = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'enum', 'const', '$ref', '$dynamicRef'];
// Keywords that refer to properties by name, which a renaming would have to change.
const NAMING = ['patternProperties', 'propertyNames', 'dependentRequired', 'dependentSchemas', 'unevaluatedProperties'];

/** Converts the input schema of a tool for a dialect that takes nearly all of JSON Schema. */
export function plainInput(schema: Json | undefined, rules: PlainRules, lose: AddLoss): PlainInput {
  const modern = local(modernise(schema, AT, lose), lose);
  const root = rooted(modern === true ? {} : modern);
  const whole = rules.arraysNeedItems && isObject(root) ? (mapSchemas(root, withItems) as JsonObject) : root;
  if (!isObject(whole) || whole.type !== 'object' || NOT_ON_TOP.some((keyword) => whole[keyword] !== undefined)) {
    return wrapped(whole);
  }
  const illegal = Object.keys(propertiesOf(whole)).filter((name) => !isLegal(name, rules));
  if (illegal.length === 0) return { schema: whole, toArguments: (value) => value };
  const isNamed = NAMING.some((keyword) => whole[keyword] !== undefined) || pointsAtTop(whole);
  return isNamed ? wrapped(whole) : renamed(whole, illegal);
}

const propertiesOf = (schema: JsonObject): JsonObject => (isObject(schema.properties) ? schema.properties : {});
const isLegal = (name: string, { propertyName }: PlainRules) =>
  !propertyName || (propertyName.test(name) && name !== '__proto__');

/** Removes references that leave the document; they are never fetched. */
function local(schema: JsonObject | boolean, lose: AddLoss): JsonObject | boolean {
  return mapSchemas(schema, (one) => {
    const { $ref, ...others } = one;
    if (typeof $ref !== 'string' || follow(schema, $ref) !== undefined) return one;
    lose(AT, '$ref', 'wider', `${$ref.slice(0, 100)} points nowhere inside the document, and nothing is fetched.`);
    return others;
  }) as JsonObject | boolean;
}

/** Resolves a reference at the root, and adds the type that every tool input has. */
function rooted(schema: JsonObject | boolean, followed = 0): JsonObject | boolean {
  if (!isObject(schema) || followed > MAX_FOLLOWED) return schema;
  const { $ref, ...others } = schema;
  const target = typeof $ref === 'string' ? follow(schema, $ref) : undefined;
  const isBare = Object.keys(others).every((keyword) => ['$defs', 'description', 'title'].includes(keyword));
  if (isObject(target) && target !== schema && isBare && target.$defs === undefined)
    return rooted({ ...target, ...others }, followed + 1);
  if (schema.type === undefined && !NOT_ON_TOP.some((keyword) => schema[keyword] !== undefined)) {
    return { type: 'object', ...schema };
  }
  return schema;
}

const withItems = (schema: JsonObject): JsonObject =>
  [schema.type].flat().includes('array') && schema.items === undefined ? { ...schema, items: {} } : schema;

function wrapped(schema: JsonObject | boolean): PlainInput {
  const inside = mapSchemas(schema, (one) => {
    if (typeof one.$ref !== 'string' || !/^#(\/|$)/.test(one.$ref)) return one;
    return { ...one, $ref: `#/properties/${WRAP}${one.$ref.slice(1)}` };
  });
  return {
    schema: { type: 'object', properties: { [WRAP]: inside }, required: [WRAP], additionalProperties: false },
    toArguments: (value) => (isObject(value) && Object.hasOwn(value, WRAP) ? (value[WRAP] as Json) : value),
  };
}

function pointsAtTop(schema: JsonObject): boolean {
  let found = false;
  mapSchemas(schema, (one) => {
    if (typeof one.$ref === 'string' && !one.$ref.startsWith('#/$defs/')) found = true;
    return one;
  });
  return found;
}

function renamed(schema: JsonObject, illegal: readonly string[]): PlainInput {
  const taken = new Set(Object.keys(propertiesOf(schema)));
  const names = new Map<string, string>();
  for (const name of illegal) {
    const plain = `p_${name.slice(0, 40).replace(/[^a-zA-Z0-9_.-]/g, '_')}`;
    let free = plain;
    for (let number = 2; taken.has(free); number++) free = `${plain}_${number}`;
    taken.add(free);
    names.set(name, free);
  }
  const originals = new Map([...names].map(([original, name]) => [name, original]));
  const entries = Object.entries(propertiesOf(schema)).map(([name, one]) => [names.get(name) ?? name, one]);
  const required = ((schema.required ?? []) as readonly string[]).map((name) => names.get(name) ?? name);
  return {
    schema: { ...schema, properties: Object.fromEntries(entries), ...(schema.required && { required }) },
    toArguments: (value) =>
      isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, part]) => [originals.get(name) ?? name, part]))
        : value,
  };
}
