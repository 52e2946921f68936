import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json } from '../core/call.ts';
import { exampleOf } from './example.ts';

const CASES: readonly (readonly [schema: Json, example: Json])[] = [
  [{ type: 'object' }, {}],
  [{ properties: { a: { type: 'string' }, b: { type: 'number' } }, required: ['a'] }, { a: 'text' }],
  [
    { required: ['a', 'b', 'c'], properties: { a: { type: 'integer', minimum: 5 }, b: { type: 'boolean' } } },
    { a: 5, b: true, c: {} },
  ],
  [{ required: ['a'], properties: { a: { type: 'array', items: { type: 'number' } } } }, { a: [1] }],
  [{ required: ['a'], properties: { a: { enum: ['x', 'y'], type: 'string' } } }, { a: 'x' }],
  [{ required: ['a'], properties: { a: { default: false } } }, { a: false }],
  [{ required: ['a'], properties: { a: { examples: ['README.md'], type: 'string' } } }, { a: 'README.md' }],
  [{ required: ['a'], properties: { a: { type: ['null', 'string'] } } }, { a: null }],
  [{ required: 'a', properties: 7 }, {}],
  [{ required: [7, null, 'constructor'], properties: {} }, { constructor: {} }],
  [null, {}],
];
for (const [schema, example] of CASES) {
  verifies('G4', `returns an example for ${JSON.stringify(schema)}`, () => expect(exampleOf(schema)).toEqual(example));
}

verifies('G4', 'does not change Object.prototype for a required __proto__', () => {
  const schema = JSON.parse('{"required": ["__proto__"], "properties": {"__proto__": {"const": {"polluted": 1}}}}');
  exampleOf(schema);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

verifies('G4', 'names each required property once, however often a schema repeats it', () => {
  const required = Array.from({ length: 10_000 }, () => 'a');
  const nested = (levels: number): Json =>
    levels === 0 ? { type: 'string' } : { type: 'object', required, properties: { a: nested(levels - 1) } };
  expect(exampleOf(nested(4))).toEqual({ a: { a: { a: { a: 'text' } } } });
});
