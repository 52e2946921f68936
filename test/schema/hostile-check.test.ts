import { expect } from 'vitest';
import type { Json, JsonObject } from '../../src/core/call.ts';
import { compileCheck } from '../../src/schema/compile.ts';
import { verifies } from '../requirements.ts';
import { attempt, list, of } from './attempt.ts';

const DRAFT_7 = 'http://json-schema.org/draft-07/schema#';
const TOO_LARGE_TO_CHECK = expect.objectContaining({
  code: 'INPUT_INVALID',
  message: expect.stringMatching(/^The arguments of mcp__s__t are too large to check: \w+( \w+)? takes more than/),
});
const named = (length: number, make: (index: number) => Json): JsonObject =>
  Object.fromEntries(list(length, (index) => [`k${index}`, make(index)]));

/** Nested so deep that two references per level make 2^20 of them; its innermost value fits no branch. */
const DEEP = list(20, () => 0).reduce<JsonObject>((arg) => ({ arg, op: 'none' }), { arg: 'leaf', op: 'none' });
const branch = (op: string, reference: JsonObject): JsonObject => ({
  type: 'object',
  properties: { arg: reference, op: { const: op } },
  required: ['arg', 'op'],
});
const two = (reference: JsonObject): Json[] => [branch('not', reference), branch('neg', reference), { type: 'string' }];
const node = (definition: JsonObject, more: JsonObject = {}): JsonObject =>
  of({ $ref: '#/$defs/node' }, { $defs: { node: definition }, ...more });
const ref: JsonObject = { $ref: '#/$defs/node' };
// As text, because an object with a key `then` looks like a promise.
const CONDITIONAL = `{
  "if": { "properties": { "arg": { "$ref": "#/$defs/node" } } },
  "then": { "properties": { "arg": { "$ref": "#/$defs/node" } }, "required": ["none"] },
  "else": { "properties": { "arg": { "$ref": "#/$defs/node" } } },
  "type": "object"
}`;

const FAILING: Readonly<Record<string, JsonObject>> = {
  anyOf: node({ anyOf: two(ref) }),
  oneOf: node({ oneOf: two(ref) }),
  not: node({ type: 'object', oneOf: list(2, () => ({ not: { not: { properties: { arg: ref } } } })) }),
  'if, then and else': node(JSON.parse(CONDITIONAL)),
  'an anchor': of({ $ref: '#node' }, { $defs: { node: { $anchor: 'node', anyOf: two({ $ref: '#node' }) } } }),
  'a definition named const': of(
    { $ref: '#/$defs/const' },
    { $defs: { const: { anyOf: two({ $ref: '#/$defs/const' }) } } },
  ),
  $dynamicRef: {
    properties: { a: { $dynamicRef: '#node' } },
    $dynamicAnchor: 'node',
    anyOf: [{ required: ['a'] }, ...two({ $dynamicRef: '#node' })],
  },
  $recursiveRef: {
    properties: { a: { $recursiveRef: '#' } },
    anyOf: [{ required: ['a'] }, ...two({ $recursiveRef: '#' })],
  },
  'draft-07': {
    $schema: DRAFT_7,
    ...of({ $ref: '#/definitions/node' }, { definitions: { node: { anyOf: two({ $ref: '#/definitions/node' }) } } }),
  },
  unevaluatedProperties: node({ anyOf: two(ref), unevaluatedProperties: false }),
};

for (const [what, schema] of Object.entries(FAILING)) {
  verifies('G4', `counts references that fail: ${what}`, () => {
    expect(attempt(schema, { a: DEEP })).toEqual(TOO_LARGE_TO_CHECK);
  });
}

const nothing = { type: 'null' };
const MANY_KEYS = named(30_000, () => 1);

/** Schemas without a reference, each with an input that makes one keyword expensive. */
const EXPENSIVE: Readonly<Record<string, readonly [a: JsonObject, input: Json]>> = {
  'branches times items': [{ items: { not: { anyOf: list(400, () => nothing) } } }, list(5_000, () => 1)],
  'contains times branches': [{ anyOf: list(100, () => ({ contains: nothing })) }, list(10_000, () => 1)],
  'patternProperties times keys': [{ patternProperties: named(50, () => nothing) }, named(30_000, () => null)],
  'additionalProperties times keys': [
    { allOf: list(50, () => ({ additionalProperties: { type: 'number' } })) },
    MANY_KEYS,
  ],
  'propertyNames times keys': [{ allOf: list(50, () => ({ propertyNames: { type: 'string' } })) }, MANY_KEYS],
  'maxProperties times keys': [{ allOf: list(50, () => ({ maxProperties: 99_999 })) }, MANY_KEYS],
  'maxLength of a long text': [{ allOf: list(50, () => ({ maxLength: 9_999_999 })) }, 'x'.repeat(1_000_000)],
  'uniqueItems of large items': [{ allOf: list(10, () => ({ uniqueItems: true })) }, list(30_000, (i) => [i, i, i])],
  'const objects times keys': [{ anyOf: list(300, () => ({ const: {} })) }, named(20_000, () => 1)],
  'const lists of one large object': [{ anyOf: list(300, () => ({ const: [0] })) }, [named(20_000, () => 1)]],
  'long lists of required names': [
    { items: { required: list(5_000, () => 'x'), not: false } },
    list(900, () => ({ x: 1 })),
  ],
  'dependentRequired lists': [
    { items: { dependentRequired: { x: list(300, () => 'x') } } },
    list(15_000, () => ({ x: 1 })),
  ],
  'evaluated properties times keys': [
    { anyOf: list(50, () => ({ patternProperties: { '': true } })), unevaluatedProperties: false },
    MANY_KEYS,
  ],
};

for (const [what, [a, input]] of Object.entries(EXPENSIVE)) {
  verifies('G4', `counts the work of keywords without references: ${what}`, () => {
    expect(attempt(of(a), { a: input })).toEqual(TOO_LARGE_TO_CHECK);
  });
}

verifies('G4', 'bounds a plain schema as it bounds a compiled one', () => {
  const plain = of({ type: 'array', items: { type: 'integer' } });
  const compiled = of({ type: 'array', items: { type: 'integer', multipleOf: 1 } });
  for (const schema of [plain, compiled]) {
    expect(attempt(schema, { a: list(400_000, () => 1) })).toBeUndefined();
    expect(attempt(schema, { a: list(3_000_001, () => 1) })).toEqual(TOO_LARGE_TO_CHECK);
  }
  const repeated = of({ type: 'array', items: { type: 'object', required: list(50_000, () => 'x') } });
  expect(attempt(repeated, { a: list(100_000, () => ({ x: 1 })) })).toBeUndefined();
});

verifies('G4', 'starts each check with the whole budget', () => {
  const check = compileCheck(of({ items: { type: 'integer', multipleOf: 1 } }), 'mcp__s__t');
  const plain = compileCheck(of({ type: 'array', items: { type: 'integer' } }), 'mcp__s__t');
  for (let again = 0; again < 5; again++) {
    expect([check, plain].map((one) => one({ a: list(400_000, () => 1) }))).toEqual([undefined, undefined]);
  }
});

const DEFINITION = { allOf: list(500, () => ({ minimum: 1 })) };
/** Schemas that are small as text, and list much: each is checked once, within the budget. */
const LARGE_LISTS: Readonly<Record<string, JsonObject>> = {
  'long lists of dependent names': of({ dependentRequired: { a: list(2_000, () => 'b') } }),
  'tens of thousands of dependent names': of({ dependentRequired: { a: list(50_000, () => 'b') } }),
  'thousands of boolean branches': of({ anyOf: list(40_000, () => false) }),
  'chains of references': of(
    { anyOf: list(1_000, (i) => ({ $ref: `#/$defs/k${i}` })) },
    { $defs: named(1_000, (i) => (i === 0 ? nothing : { $ref: `#/$defs/k${i - 1}` })) },
  ),
  'evaluated properties in every branch': of({
    allOf: list(200, () => ({ properties: named(20, () => true) })),
    properties: named(400, () => true),
    unevaluatedProperties: false,
  }),
};

function spelling(name: string, index: number): string {
  return [...name].map((char, at) => ((index >> at) & 1 ? `%${char.charCodeAt(0).toString(16)}` : char)).join('');
}

for (const [what, schema] of Object.entries(LARGE_LISTS)) {
  verifies('G4', `checks a schema that lists much: ${what}`, () => {
    expect(attempt(schema, { a: null })).toSatisfy((found) => found === undefined || typeof found === 'string');
  });
}

verifies('G4', 'compiles a definition once for all references to it', () => {
  const schema = of({ items: { allOf: list(100, () => ref) } }, { $defs: { node: DEFINITION } });
  expect(attempt(schema, { a: [1] })).toBeUndefined();
  const spelt = of(
    { allOf: list(512, (i) => ({ $ref: `#/$defs/${spelling('bcdefghij', i)}` })) },
    { $defs: { bcdefghij: { ...DEFINITION, properties: { a: { $ref: '#' } } } } },
  );
  expect(attempt(spelt, { a: 1 })).toBeUndefined();
});

verifies('G4', 'compiles large schemas of ordinary tools', () => {
  const object = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' }, c: {} } };
  const unions = named(150, (i) => ({ anyOf: [object, { enum: ['x', `y${i}`] }] }));
  const texts = named(600, (i) => ({ type: 'string', enum: ['x', `y${i}`], pattern: '^[a-z]' }));
  for (const properties of [unions, texts]) {
    expect(attempt({ type: 'object', properties }, { k7: 'y7' })).toBeUndefined();
    expect(attempt({ type: 'object', properties }, { k7: 'y8' })).toMatch(/^`k7` must be/);
  }
});

verifies('G4', 'checks long lists of references up to the size of a request', () => {
  const point = { type: 'object', properties: { x: { type: 'number' }, y: { type: 'number' } }, required: ['x', 'y'] };
  const points = of({ type: 'array', items: ref }, { $defs: { node: point } });
  expect(attempt(points, { a: list(230_000, (x) => ({ x, y: 7 })) })).toBeUndefined();
  const row = { type: 'object', properties: named(10, () => ({ anyOf: [ref, { type: 'null' }] })) };
  const rows = of({ type: 'array', items: row }, { $defs: { node: { type: 'string' } } });
  expect(attempt(rows, { a: list(37_000, () => named(10, (i) => (i % 2 ? null : 'text'))) })).toBeUndefined();
});

verifies('G4', 'compares objects with thousands of allowed ones in one step', () => {
  const schema = of({ enum: list(4_900, () => ({})) });
  expect(attempt(schema, { a: named(20_000, () => 1) })).toMatch(/^`a` must be one of \[\{\},/);
  expect(attempt(schema, { a: {} })).toBeUndefined();
});

verifies('G4', 'compares values of enum and const by what they hold', () => {
  const allowed = of({ enum: [{ x: 1, y: [0, null] }, [{}], 1, '1', null] });
  for (const a of [{ y: [0, null], x: 1 }, [{}], 1, '1', null]) expect(attempt(allowed, { a })).toBeUndefined();
  for (const a of [{ x: 1 }, { y: [null, 0], x: 1 }, {}, [], [[]], 0, '', true]) {
    expect(attempt(allowed, { a })).toContain('`a` must be one of');
  }
  for (const schema of [of({ enum: [{}] }), of({ const: {} })]) {
    for (const name of ['valueOf', 'toString', 'constructor']) {
      expect(attempt(schema, { a: { [name]: 1 } })).toMatch(/^`a` must be/);
    }
  }
});

verifies('G4', 'compiles long lists of values and large unions', () => {
  const schema = of({ enum: list(15_000, (i) => `value ${i}`) }, { required: list(1_000, () => 'a'), not: false });
  expect(attempt(schema, { a: 'value 14999' })).toBeUndefined();
  const union = of({ oneOf: list(500, (i) => ({ const: i, title: `number ${i}` })) });
  expect([attempt(union, { a: 499 }), attempt(union, { a: 500 })]).toEqual([undefined, '`a` must be 0, got 500']);
});

verifies('G4', 'refuses texts that take too many pattern steps together, and skips no pattern', () => {
  const slow = { pattern: '^(.*a){20}$' };
  const wrong = `${'a'.repeat(3_000)}!`;
  const texts = (length: number) => [...list(length, () => 'a'.repeat(3_000)), wrong];
  expect(attempt(of({ items: slow }), { a: texts(10) })).toContain('`a.10` must match pattern');
  expect(attempt(of({ items: slow }), { a: texts(100) })).toEqual(TOO_LARGE_TO_CHECK);
  const check = compileCheck(of({ items: slow }), 'mcp__s__t');
  expect(() => check({ a: texts(100) })).toThrow('are too large to check: matching patterns takes');
  expect(check({ a: [wrong] })).toContain('must match');
});

verifies('G4', 'checks a short text with a pattern after a long one', () => {
  const properties = { note: { pattern: '^x*$' }, path: { pattern: '^/safe/' }, name: { not: { pattern: 'secret' } } };
  const long = { note: 'x'.repeat(500_000) };
  expect(attempt({ properties }, { ...long, path: '/etc/passwd' })).toContain('`path` must match pattern');
  expect(attempt({ properties }, { ...long, path: '/safe/a', name: 'harmless' })).toBeUndefined();
  const padded = { note: 'x'.repeat(4_000_000), path: '/etc/passwd' };
  expect(attempt({ properties }, padded)).toEqual(TOO_LARGE_TO_CHECK);
});

verifies(
  'G4',
  'compiles patterns of a schema until they are too large together, and leaves the rest to the server',
  () => {
    const patterns = (length: number) => of({ allOf: list(length, (i) => ({ pattern: `^a{900}(b|c{${i + 1}})$` })) });
    expect(attempt(patterns(5), { a: 'x' })).toContain('must match pattern');
    const repeated = list(60, (i) => ({ pattern: `^(((${'ab'.repeat(100)}){10}){10}){10}${i}` }));
    expect(attempt(of({ allOf: repeated }), { a: 'x' })).toBeUndefined();
  },
);
