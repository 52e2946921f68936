import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json, JsonObject } from '../call.ts';
import { type Field, fillForm, readForm } from './form.ts';

const form = (properties: JsonObject, required: readonly string[] = []): readonly Field[] => {
  const fields = readForm({ type: 'object', properties, required });
  if (typeof fields === 'string') throw new Error(fields);
  return fields;
};

it('reads choices from enum, enumNames, oneOf and anyOf', () => {
  const titled = [{ const: 'r', title: 'Red' }, { const: 'g' }];
  const fields = form({
    plain: { type: 'string', enum: ['r', 'g'] },
    old: { type: 'string', enum: ['r', 'g'], enumNames: ['Red'] },
    titled: { type: 'string', oneOf: titled },
    many: { type: 'array', items: { anyOf: titled }, minItems: 1 },
    several: { type: 'array', items: { type: 'string', enum: ['r', 'g'] } },
  });
  expect(fields.map(({ kind, choices }) => `${kind} ${choices.map(({ title }) => title)}`)).toEqual([
    'choice r,g',
    'choice Red,g',
    'choice Red,g',
    'choices Red,g',
    'choices r,g',
  ]);
});

it.each<[string, unknown]>([
  ['no object', []],
  ['another type', { type: 'string' }],
  ['no properties', { type: 'object' }],
  ['an object inside', { type: 'object', properties: { a: { type: 'object', properties: {} } } }],
  ['a list of anything', { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } }],
  ['no type', { type: 'object', properties: { a: {} } }],
  ['a field that is no schema', { type: 'object', properties: { a: true } }],
  ['a required field that is not there', { type: 'object', properties: {}, required: ['a'] }],
  ['a hundred fields and one', { type: 'object', properties: many(101, { type: 'boolean' }) }],
  ['a thousand choices and one', { type: 'object', properties: { a: { type: 'string', enum: names(1001) } } }],
  ['more than anybody reads', { type: 'object', properties: { a: { type: 'string', title: 'x'.repeat(70_000) } } }],
])('T10: refuses a form with %s', (_, schema) => {
  expect(readForm(schema)).toEqual(expect.any(String));
});

const GOOD: readonly [JsonObject, Json][] = [
  [{ type: 'string', minLength: 2, maxLength: 2 }, '👍👍'],
  [{ type: 'string', format: 'email' }, 'ann@example.com'],
  [{ type: 'string', format: 'uri' }, 'urn:x'],
  [{ type: 'string', format: 'date' }, '2024-02-29'],
  [{ type: 'string', format: 'date-time' }, '2026-01-31T12:00:00+01:00'],
  [{ type: 'string', format: 'unheard-of' }, 'anything'],
  [{ type: 'integer', minimum: 1, maximum: 3 }, 3],
  [{ type: 'number' }, 0.5],
  [{ type: 'boolean' }, false],
  [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, ['b', 'a']],
];
const BAD: readonly [JsonObject, Json][] = [
  [{ type: 'string', minLength: 2 }, 'x'],
  [{ type: 'string', maxLength: 2 }, 'xxx'],
  [{ type: 'string' }, 7],
  [{ type: 'string' }, null],
  [{ type: 'string', format: 'email' }, 'ann at example.com'],
  [{ type: 'string', format: 'uri' }, 'not a uri'],
  [{ type: 'string', format: 'date' }, '2026-04-31'],
  [{ type: 'string', format: 'date' }, '2026-13-01'],
  [{ type: 'string', format: 'date-time' }, '2026-01-31'],
  [{ type: 'string', format: 'date-time' }, '2026-01-31T25:00:00Z'],
  [{ type: 'integer' }, 1.5],
  [{ type: 'integer', minimum: 1 }, 0],
  [{ type: 'number', maximum: 1 }, 1.1],
  [{ type: 'number' }, '1'],
  [{ type: 'boolean' }, 'true'],
  [{ type: 'string', enum: ['a'] }, 'b'],
  [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, ['c']],
  [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, ['a', 'a']],
  [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] }, maxItems: 1 }, ['a', 'b']],
  [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1 }, []],
];

it.each(GOOD)('T10: takes %j: %j', (property, value) => {
  expect(fillForm(form({ a: property }), { a: value })).toEqual({ a: value });
});

it.each(BAD)('T10: refuses for %j: %j, and names the field', (property, value) => {
  expect(() => fillForm(form({ a: property }, ['a']), { a: value })).toThrow(
    expect.objectContaining({ code: 'INPUT_INVALID', details: { field: 'a' } }),
  );
});

verifies('T10', 'fills in defaults, drops unknown fields and requires the required ones', () => {
  const fields = form({ a: { type: 'integer', default: 4 }, b: { type: 'string' } }, ['a']);
  expect(fillForm(fields, { c: 1, __proto__: { b: 'x' } })).toEqual({ a: 4 });
  expect(() => fillForm(form({ toString: { type: 'string' } }, ['toString']), {})).toThrow('toString is missing');
});

function names(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `n${at}`);
}

function many(count: number, property: JsonObject): JsonObject {
  return Object.fromEntries(names(count).map((name) => [name, property]));
}
