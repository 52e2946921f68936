import fc from 'fast-check';
import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';

const PATTERNS = ['^a', '^[0-9]+$', 'x|y', '^(?=a)'];
const TEXTS = ['', 'a', 'ab', 'abc', '12', '7', 'xy', 'x', 'é𝄞', '{"k":1}', '{}', '[1]', 'null', 'true', '1', '0.5'];
const NAMES = ['a', 'ab', 'x', 'weird name', '$filter', '__proto__', '12', 'constructor', 'ключ'];
const VALUES: Json[] = ['a', 'ab', '', '1', 1, 2, 0.5, true, false, null, [1], { k: 1 }, {}, '12'];

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const name = fc.constantFrom(...NAMES);
const small = fc.nat({ max: 3 });
const notes = { description: optional(fc.constantFrom('What it is.', 'x')), title: optional(fc.constant('T')) };

const clean = (schema: object): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
const record = (parts: { [key: string]: fc.Arbitrary<unknown> }) => fc.record(parts).map(clean);

function schemaWithin(): fc.Arbitrary<Json> {
  return fc
    .letrec<{ schema: Json; object: JsonObject }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        leaf,
        tie('object'),
        arrayOf(tie('schema')),
        record({
          anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
          ...notes,
          type: optional(fc.constant('object')),
        }),
        record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
        record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }), ...notes }),
        record({ $ref: fc.nat({ max: 3 }).map((index) => `#/$defs/D${index}`), description: notes.description }),
      ),
      object: objectOf(tie('schema')),
    }))
    .object.chain((object) =>
      fc.oneof({ weight: 6, arbitrary: fc.constant<Json>(object) }, { weight: 1, arbitrary: leaf }),
    );
}

const leaf: fc.Arbitrary<Json> = fc.oneof(
  fc.constant<Json>(true),
  fc.constant<Json>({}),
  record({
    type: fc.constant('string'),
    minLength: optional(small),
    maxLength: optional(small.map((max) => max + 1)),
    pattern: optional(fc.constantFrom(...PATTERNS)),
    format: optional(fc.constantFrom('date-time', 'email', 'uri')),
    ...notes,
  }),
  record({
    type: fc.constantFrom('number', 'integer'),
    minimum: optional(fc.integer({ min: -2, max: 2 })),
    exclusiveMaximum: optional(fc.integer({ min: 3, max: 9 })),
    multipleOf: optional(fc.constantFrom(1, 2, 0.5)),
    default: optional(fc.constant(1)),
  }),
  record({ type: fc.constantFrom('boolean', 'null', ['string', 'null'], ['integer', 'string'], 'object', 'array') }),
  record({ enum: fc.subarray(VALUES, { minLength: 1 }), type: optional(fc.constantFrom('string', 'integer')) }),
  record({ const: fc.constantFrom(...VALUES) }),
  record({ minLength: small, not: optional(fc.constant({ const: 'ab' })) }),
  record({ $ref: fc.constantFrom('https://example.com/x.json', '#/nowhere', '#/$defs/D1') }),
);

const arrayOf = (schema: fc.Arbitrary<Json>) =>
  record({
    type: fc.constant('array'),
    items: optional(schema),
    prefixItems: optional(fc.array(schema, { minLength: 1, maxLength: 2 })),
    minItems: optional(fc.nat({ max: 2 })),
    maxItems: optional(small.map((max) => max + 1)),
    uniqueItems: optional(fc.boolean()),
    description: notes.description,
  });

const objectOf = (schema: fc.Arbitrary<Json>) =>
  record({
    type: fc.constantFrom('object', 'object', undefined, ['object', 'null']),
    properties: optional(
      fc.array(fc.tuple(name, schema), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
    ),
    required: optional(fc.uniqueArray(name, { maxLength: 2 })),
    additionalProperties: optional(
      fc.oneof(
        fc.boolean().map((flag): Json => flag),
        schema,
      ),
    ),
    patternProperties: optional(
      fc.tuple(fc.constantFrom('^a', '^[0-9]+$'), schema).map((entry) => Object.fromEntries([entry])),
    ),
    propertyNames: optional(fc.constant({ maxLength: 5 })),
    maxProperties: optional(small),
    minProperties: optional(fc.nat({ max: 2 })),
    ...notes,
  });

/** Rewrites a schema as draft 7. */
function downgraded(schema: Json | undefined): Json | undefined {
  if (Array.isArray(schema)) return schema.map((one: Json) => downgraded(one) as Json);
  if (!isObject(schema)) return typeof schema === 'string' ? schema.replace('#/$defs/', '#/definitions/') : schema;
  const { prefixItems, items, ...others } = schema;
  const renamed = Array.isArray(prefixItems) ? { ...others, items: prefixItems, additionalItems: items } : schema;
  return clean(Object.fromEntries(Object.entries(renamed).map(([key, value]) => [key, downgraded(value)])));
}

/** Generates schemas with nearly all keywords of JSON Schema, valid or not. */
export const schemas: fc.Arbitrary<JsonObject> = fc
  .tuple(fc.boolean(), ...Array.from({ length: 4 }, () => schemaWithin()))
  .map(([isOld, root, ...named]) => {
    const defs = Object.fromEntries(named.map((schema, index) => [`D${index}`, schema]));
    const whole = isObject(root) ? root : { properties: { a: root } };
    if (!isOld) return { ...whole, $defs: defs };
    return {
      ...(downgraded(whole) as JsonObject),
      $schema: 'http://json-schema.org/draft-07/schema#',
      definitions: downgraded(defs),
    };
  });

/** Returns a generator of numbers from 0 to 1 that depend on the seed alone. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Guess {
  readonly root: JsonObject;
  readonly random: () => number;
}

/** Guesses a value for a JSON Schema; it is often valid. */
export function guessValue(schema: Json | undefined, guess: Guess, depth = 0): Json {
  const { random, root } = guess;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  if (!isObject(schema) || depth > 12) return pick(VALUES);
  if (typeof schema.$ref === 'string') return guessValue(target(root, schema.$ref), guess, depth + 1);
  if (Array.isArray(schema.enum)) return pick(schema.enum);
  if (schema.const !== undefined) return schema.const;
  const alternatives = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (Array.isArray(alternatives) && (schema.type === undefined || random() < 0.5)) {
    return guessValue(pick(alternatives), guess, depth + 1);
  }
  switch (Array.isArray(schema.type) ? pick(schema.type) : schema.type) {
    case 'null':
      return null;
    case 'boolean':
      return random() < 0.5;
    case 'integer':
      return Math.floor(random() * 8) - 2;
    case 'number':
      return Math.floor(random() * 16) / 2 - 2;
    case 'string':
      return pick(TEXTS);
    case 'array':
      return guessArray(schema, guess, depth);
    case 'object':
      return guessObject(schema, guess, depth);
    default:
      return isObject(schema.properties) ? guessObject(schema, guess, depth) : pick(VALUES);
  }
}

function target(root: JsonObject, reference: string): Json | undefined {
  const steps = decodeURIComponent(reference).split('/').slice(1);
  return steps.reduce<Json | undefined>((here, step) => (here as JsonObject | undefined)?.[step], root);
}

function guessArray(schema: JsonObject, guess: Guess, depth: number): Json {
  const { minItems = 0, prefixItems = [] } = schema as { minItems?: number; prefixItems?: readonly Json[] };
  const length = Number(minItems) + Math.floor(guess.random() * (depth > 6 ? 1 : 3));
  return Array.from({ length }, (_, at) => guessValue(prefixItems[at] ?? schema.items, guess, depth + 1));
}

function guessObject(schema: JsonObject, guess: Guess, depth: number): Json {
  const properties = (isObject(schema.properties) ? schema.properties : {}) as JsonObject;
  const required = new Set((schema.required ?? []) as readonly string[]);
  const isOpen = schema.additionalProperties !== false;
  const extra = isOpen && guess.random() < 0.5 ? [NAMES[Math.floor(guess.random() * NAMES.length)] as string] : [];
  const names = new Set([...Object.keys(properties), ...required, ...extra]);
  const chosen = [...names].filter((one) => required.has(one) || guess.random() < (depth > 6 ? 0.1 : 0.6));
  return Object.fromEntries(
    chosen.map((one) => [one, guessValue(properties[one] ?? schema.additionalProperties, guess, depth + 1)]),
  );
}
