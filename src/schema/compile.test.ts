import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json, JsonObject } from '../core/call.ts';
import { compileCheck } from './compile.ts';

const check = (schema: JsonObject, input: JsonObject) => compileCheck(schema, 'mcp__s__t')(input);
const of = (a: JsonObject): JsonObject => ({ type: 'object', properties: { a } });
const DRAFT_7 = 'http://json-schema.org/draft-07/schema#';
const unusable = (reason: string) =>
  expect.objectContaining({ code: 'TOOL_INVALID', message: expect.stringContaining(reason) });
const TOO_LARGE = expect.objectContaining({
  code: 'INPUT_INVALID',
  message: expect.stringContaining('more than 3000000 steps'),
  fix: 'Send fewer or shorter values in one call.',
});
const attempt = (schema: JsonObject, input: JsonObject = {}) => {
  try {
    return check(schema, input);
  } catch (thrown) {
    return thrown;
  }
};

const MESSAGES: readonly (readonly [schema: JsonObject, input: JsonObject, message: string | undefined])[] = [
  [of({ type: 'string' }), { a: 'x' }, undefined],
  [of({ type: 'string' }), { a: 7 }, '`a` must be string, got 7'],
  [of(of({ type: 'integer' })), { a: { a: 1.5 } }, '`a.a` must be integer, got 1.5'],
  [of({ items: { minimum: 3 } }), { a: [5, 1] }, '`a.1` must be >= 3, got 1'],
  [{ required: ['path'] }, {}, 'the input lacks `path`'],
  [of({ enum: ['x', 'y'] }), { a: 'z' }, '`a` must be one of ["x","y"], got "z"'],
  [of({ const: 1 }), { a: 2 }, '`a` must be 1, got 2'],
  [
    { properties: { path: {} }, additionalProperties: false },
    { pth: 1 },
    '`pth` is not an argument of this tool; it takes `path`',
  ],
  [
    { properties: { repo_path: {}, branch_type: {} }, additionalProperties: false },
    { repo_path: '.', operation: 'list' },
    '`operation` is not an argument of this tool; it takes `repo_path`, `branch_type`',
  ],
  [
    { properties: { path: {}, depth: {}, filter: {} }, additionalProperties: false },
    { filtr: 1 },
    '`filtr` is not an argument of this tool; it takes `filter`, `path`, `depth`',
  ],
  [{ additionalProperties: false }, { x: 1 }, '`x` is not an argument of this tool'],
  [
    { properties: Object.fromEntries([...'abcdefghij'].map((name) => [name, {}])), additionalProperties: false },
    { operation: 1 },
    '`operation` is not an argument of this tool; it takes `a`, `b`, `c`, `d`, `e`, `f`, `g`, `h`, …',
  ],
  [
    { properties: { path: {} }, unevaluatedProperties: false },
    { size: 1 },
    '`size` is not an argument of this tool; it takes `path`',
  ],
  [
    of({ properties: { path: {} }, additionalProperties: false }),
    { a: { size: 1 } },
    '`size` is not a property of `a`; it takes `path`',
  ],
  [{ properties: { 'a/b~c': { type: 'null' } } }, { 'a/b~c': 0 }, '`a/b~c` must be null, got 0'],
  [
    of({ uniqueItems: true }),
    {
      a: [
        { x: 1, y: 2 },
        { y: 2, x: 1 },
      ],
    },
    '`a` must not have the same item twice, got [{"x":1,"y":2},{"y":2,"x":1}]',
  ],
  [of({ maxLength: 3 }), { a: 'x'.repeat(100) }, `\`a\` must NOT have more than 3 characters, got "${'x'.repeat(59)}…`],
];
for (const [schema, input, message] of MESSAGES) {
  verifies('G4', `describes an invalid input: ${message ?? 'no error'}`, () =>
    expect(check(schema, input)).toBe(message),
  );
}

verifies('G4', 'reads a schema as 2020-12 unless its $schema names an older draft', () => {
  const tuple = [{ type: 'string' }] as const;
  expect(check(of({ prefixItems: tuple }), { a: [1] })).toBe('`a.0` must be string, got 1');
  for (const $schema of [DRAFT_7, 'http://json-schema.org/draft-04/schema#']) {
    expect(check({ $schema, ...of({ items: tuple }) }, { a: [1] })).toBe('`a.0` must be string, got 1');
    expect(check({ $schema, ...of({ prefixItems: tuple }) }, { a: [1] })).toBeUndefined();
  }
});

verifies('G4', 'matches each of several patterns in one schema', () => {
  const schema = {
    properties: { a: { pattern: '^a$' }, b: { pattern: '^b$' } },
    patternProperties: { '^x': { type: 'null' } },
  };
  expect(check(schema, { a: 'a', b: 'b', x1: null, y: 1 })).toBeUndefined();
  expect(check(schema, { b: 'a' })).toBe('`b` must match pattern "^b$", got "a"');
  expect(check(schema, { x1: 1 })).toBe('`x1` must be null, got 1');
});

verifies('G4', 'matches patterns as JavaScript does', () => {
  const matches = (pattern: string, a: string) => check(of({ pattern }), { a }) === undefined;
  expect([matches('^[\\u4e00-\\u9fff]+$', '漢字'), matches('^[\\u4e00-\\u9fff]+$', 'abc')]).toEqual([true, false]);
  expect([matches('^a\\/b$', 'a/b'), matches('^a$', 'a\n'), matches('b', 'abc')]).toEqual([true, false, true]);
});

verifies('G4', 'matches a pattern with exponential backtracking in linear time', () => {
  expect(check(of({ pattern: '^(a+)+$' }), { a: `${'a'.repeat(100_000)}!` })).toContain('must match pattern');
  expect(check(of({ pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' }), { a: 'a'.repeat(50_000) })).toContain('must match');
});

verifies('G4', 'accepts every text for patterns that are too large or need backtracking', () => {
  for (const pattern of ['^(?=a)b', '(a)\\1', '((a{1,100}){1,100}){1,100}$', '[']) {
    expect(check(of({ pattern }), { a: `${'a'.repeat(100_000)}!` })).toBeUndefined();
  }
});

verifies('G4', 'throws TOOL_INVALID with the reason for a broken schema', () => {
  const broken: readonly JsonObject[] = [
    { type: 'strng' },
    { required: 'path' },
    { properties: 5 },
    of({ $ref: '#/$defs/nowhere' }),
    of({ minimum: 'a' }),
  ];
  for (const schema of broken) expect(attempt(schema)).toEqual(unusable('its input schema is not usable'));
});

verifies('G4', 'ignores $async and leaves no unhandled rejection', async () => {
  expect(check({ $async: true, required: ['a'] }, {})).toBe('the input lacks `a`');
  await new Promise((resolve) => setImmediate(resolve)); // An unhandled rejection would fail the run here.
});

function nested(levels: number): JsonObject {
  return levels === 0 ? { type: 'string' } : { items: nested(levels - 1) };
}
function laughs(levels: number): JsonObject {
  const twice = (level: number) => ({ allOf: [{ $ref: `#/$defs/d${level}` }, { $ref: `#/$defs/d${level}` }] });
  const defs = Array.from({ length: levels }, (_, level) => [`d${level + 1}`, twice(level)] as const);
  return { $defs: { d0: { type: 'object' }, ...Object.fromEntries(defs) }, $ref: `#/$defs/d${levels}` };
}

const BOMBS: readonly (readonly [what: string, schema: JsonObject, why: string])[] = [
  ['depth', nested(40), 'nested deeper than 32'],
  ['endless depth', nested(5000), 'nested deeper than 32'],
  ['size', { description: 'x'.repeat(300_000) }, 'larger than 262144 characters'],
  ['count', { anyOf: Array.from({ length: 6000 }, () => ({})) }, 'more than 5000 parts'],
  ['a reference to itself', { $ref: '#' }, 'not usable'],
];
for (const [what, schema, why] of BOMBS) {
  verifies('G4', `refuses a schema that is too large: ${what}`, () => {
    expect(attempt(schema, {})).toEqual(unusable(why));
  });
}

verifies('G4', 'refuses a schema whose references double at each level', () => {
  expect(attempt(laughs(60))).toEqual(TOO_LARGE);
});

verifies('G4', 'accepts recursive references within the limits', () => {
  const laughing = compileCheck(laughs(10), 'mcp__s__t');
  for (let again = 0; again < 200; again++) expect(laughing({})).toBeUndefined();
  const tree: JsonObject = { properties: { value: { type: 'number' }, next: { $ref: '#' } } };
  expect(check(tree, { value: 1, next: { value: 2, next: {} } })).toBeUndefined();
  expect(check(tree, { next: { next: { value: 'x' } } })).toBe('`next.next.value` must be number, got "x"');
  const value = { $ref: '#/x' };
  expect(check(of({ const: value }), { a: value })).toBeUndefined();
});

verifies('G4', 'checks a deep input against a recursive schema within the budget', () => {
  const both: JsonObject = { properties: { a: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } };
  let deep: JsonObject = {};
  for (let level = 0; level < 60; level++) deep = { a: deep };
  expect(attempt(both, deep)).toEqual(TOO_LARGE);
});

verifies('G4', 'counts every part of `allOf` and every name of `dependentRequired` in the budget', () => {
  const parts = { type: 'array', items: { allOf: Array.from({ length: 20_000 }, () => true) } };
  expect(attempt(of(parts), { a: Array.from({ length: 1000 }, () => 0) })).toEqual(TOO_LARGE);
  const names = Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`k${index}`, []]));
  const objects = { type: 'array', items: { dependentRequired: names } };
  expect(attempt(of(objects), { a: Array.from({ length: 5000 }, () => ({})) })).toEqual(TOO_LARGE);
});

verifies('G4', 'checks uniqueItems of a long list in linear time', () => {
  const items = Array.from({ length: 50_000 }, (_, index) => ({ index }));
  expect(check(of({ type: 'array', uniqueItems: true }), { a: items })).toBeUndefined();
});

verifies('G4', 'follows $dynamicRef to the outermost $dynamicAnchor, and references to an $id', () => {
  const list = { $id: 'list', items: { $dynamicRef: '#item' }, $defs: { any: { $dynamicAnchor: 'item' } } };
  const schema = {
    $id: 'https://example.com/strings',
    properties: { a: { $ref: 'list' } },
    $defs: { string: { $dynamicAnchor: 'item', type: 'string' }, list },
  };
  expect(check(schema, { a: ['x'] })).toBeUndefined();
  expect(check(schema, { a: [1] })).toBe('`a.0` must be string, got 1');
});

verifies('G4', 'ignores keywords beside $ref in draft 7 only', () => {
  const schema = { ...of({ $ref: '#/$defs/any', maxLength: 1 }), $defs: { any: {} } };
  expect(check(schema, { a: 'xx' })).toContain('must NOT have more than 1 characters');
  expect(check({ ...schema, $schema: DRAFT_7 }, { a: 'xx' })).toBeUndefined();
});

verifies('G4', 'compiles two tools with the same $id', () => {
  const [one, other] = ['a', 'b'].map((name) => ({ $id: 'https://example.com/tool', required: [name] }));
  expect(check(one as JsonObject, {})).toBe('the input lacks `a`');
  expect(check(other as JsonObject, {})).toBe('the input lacks `b`');
});

verifies('G4', 'treats properties named like members of Object.prototype as ordinary ones', () => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    expect(check({ required: [name] }, {})).toBe(`the input lacks \`${name}\``);
    expect(check({ properties: { [name]: { type: 'null' } } }, {})).toBeUndefined();
  }
});

verifies('G4', 'returns a message or undefined, or throws TOOL_INVALID, for any schema and input', () => {
  const keyword = fc.constantFrom(
    'type',
    'items',
    'required',
    'properties',
    '$ref',
    '$async',
    '$id',
    'anyOf',
    'not',
    'if',
    'pattern',
    'enum',
    '$data',
  );
  const anything = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;
  const odd = fc.constantFrom<Json>('object', '#', 'string', {}, [{}], ['a'], true);
  const schema = fc.dictionary(fc.oneof(keyword, fc.string({ maxLength: 3 })), fc.oneof(anything, odd), { maxKeys: 4 });
  fc.assert(
    fc.property(schema, fc.dictionary(fc.string({ maxLength: 3 }), anything), (schema, input) => {
      const outcome = attempt(schema, input);
      if (outcome !== undefined && typeof outcome !== 'string') expect(outcome).toEqual(unusable('mcp__s__t'));
    }),
    { numRuns: 300 },
  );
});
