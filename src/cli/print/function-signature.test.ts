import { expect, it } from 'vitest';
import type { Json, JsonObject } from '../../core/call.ts';
import { aTarget } from '../../core/fixtures.ts';
import { functionSignature } from './function-signature.ts';

const signed = (inputSchema: Json, outputSchema?: Json) =>
  functionSignature(
    aTarget({ kind: 'tool', definition: { inputSchema, ...(outputSchema !== undefined && { outputSchema }) } }),
    't',
  );
const typed = (schema: Json) => signed({ properties: { a: schema }, required: ['a'] }).slice('t(a: '.length, -1);

it.each<[Json, string]>([
  [{ type: 'integer' }, 'number'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ enum: ['a', 1] }, '"a" | 1'],
  [{ enum: [1, 2, 3, 4, 5, 6, 7] }, '1 | 2 | 3 | 4 | 5 | 6 | …'],
  [{ type: 'array', items: { type: 'string' } }, 'string[]'],
  [{ type: 'array', items: { type: ['string', 'number'] } }, '(string | number)[]'],
  [{ type: 'array', items: { properties: { b: { enum: [1, 2] } } } }, '{ b?: 1 | 2 }[]'],
  [{ type: 'object' }, 'object'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
  [{ anyOf: [{ $ref: '#/properties/a' }, { type: 'null' }] }, '… | null | null | null'],
  [true, 'unknown'],
  [{}, 'unknown'],
])('formats %j as a type', (schema, type) => {
  if (type.startsWith('…')) expect(typed(schema)).toMatch(/^… \| null/);
  else expect(typed(schema)).toBe(type);
});

it('puts required arguments first, and shortens a long list of them', () => {
  expect(signed({ properties: { a: {}, b: {} }, required: ['b'] })).toBe('t(b: unknown, a?: unknown)');
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`argument${at}`, { type: 'string' }]));
  const text = signed({ properties: many }, { type: 'object', properties: many });
  expect(text.length).toBeLessThan(300);
  expect(text).toMatch(/^t\(argument0\?: string, .*, …\) -> \{ argument0\?: string, .*…$/);
});

it('quotes names that are no words', () => {
  expect(signed({ properties: { 'x) -> y\u001b[2J': {} } })).toBe('t("x) -> y\\u001b[2J"?: unknown)');
});

it('reads only the part of a large schema that it shows', () => {
  let reads = 0;
  const counted = (schema: JsonObject): JsonObject =>
    new Proxy(schema, {
      get(target, key) {
        if (key === 'type') reads++;
        return Reflect.get(target, key);
      },
    });
  const nested = (ref: string) => counted({ type: 'object', properties: members(6, { $ref: ref }) });
  const $defs = { a: nested('#/$defs/b'), b: nested('#/$defs/c'), c: counted({ type: 'string' }) };
  const text = signed({ properties: members(2000, { $ref: '#/$defs/a' }), $defs });
  expect(text.length).toBeLessThan(200);
  expect(reads).toBeLessThan(5000);
});

const members = (length: number, schema: JsonObject): JsonObject =>
  Object.fromEntries(Array.from({ length }, (_, at) => [`m${at}`, schema]));
