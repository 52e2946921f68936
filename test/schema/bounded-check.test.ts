import { expect } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { within } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { attempt, list, of } from './attempt.ts';

const tooLarge = (what: 'checking' | 'matching patterns') =>
  expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringContaining(`: ${what} takes more than`) });

verifies('G4', 'counts the instructions that a pattern visits in an empty text', async () => {
  const optional = of({ items: { pattern: `^${'a?'.repeat(9_900)}$` } });
  const empty = { a: list(4_000, () => '') };
  expect(await within(2_000, () => attempt(optional, empty))).toEqual(tooLarge('matching patterns'));
  expect(attempt(of({ items: { pattern: '^[a-z]*$' } }), empty)).toBeUndefined();
});

verifies('G4', 'refuses an $id, a URI or a reference of more than 2,048 characters', () => {
  const long = 'a'.repeat(2_049);
  const many = Object.fromEntries(list(20, (at) => [`d${at}`, { $id: `?${at}` }]));
  const tooLong: readonly JsonObject[] = [
    { $id: `https://x/${long}`, type: 'object', $defs: many },
    { $id: `https://x/${'a'.repeat(1_500)}/`, $defs: { one: { $id: 'b'.repeat(1_500) } } },
    of({ $ref: `#/$defs/${long}` }, { $defs: { [long]: {} } }),
  ];
  const refused = { code: 'TOOL_INVALID', message: expect.stringContaining('longer than 2048 characters') };
  for (const schema of tooLong) expect(attempt(schema, { a: 1 })).toEqual(expect.objectContaining(refused));
  expect(attempt({ $id: `https://x/${'a'.repeat(1_500)}`, $defs: many }, {})).toBeUndefined();
});

verifies('G4', 'counts the comparison of a long text with an allowed one', () => {
  const text = 'a'.repeat(100_000);
  for (const leaf of [{ enum: [text] }, { const: text }, { enum: [text, 1] }]) {
    const parts = { leaf, many: { allOf: list(300, () => ({ $ref: '#/$defs/leaf' })) } };
    const schema = of({ allOf: list(300, () => ({ $ref: '#/$defs/many' })) }, { $defs: parts });
    expect(attempt(schema, { a: text })).toEqual(tooLarge('checking'));
    expect(attempt(schema, { a: 'b' })).toContain('must be');
    expect(attempt(of(leaf), { a: text })).toBeUndefined();
  }
});

verifies('G4', 'counts the parts of nested values before it compares them', () => {
  const parts = list(600_000, () => ({}));
  for (const rule of [{ uniqueItems: true }, { enum: [[list(2, () => ({}))]] }, { const: [[{}]] }]) {
    expect(attempt(of(rule), { a: [parts] })).toEqual(tooLarge('checking'));
    expect(attempt(of(rule), { a: [[1]] })).not.toEqual(tooLarge('checking'));
  }
  const numbers = (length: number) => ({ a: list(length, (at) => at) });
  expect(attempt(of({ uniqueItems: true }), numbers(1_100_000))).toEqual(tooLarge('checking'));
  expect(attempt(of({ uniqueItems: true }), numbers(100_000))).toBeUndefined();
  expect(
    attempt(of({ uniqueItems: true }), { a: [1, '1', [1], ['1'], {}, [], null, 'null', true, 'true'] }),
  ).toBeUndefined();
  expect(
    attempt(of({ uniqueItems: true }), {
      a: [
        { x: 1, y: [2] },
        { y: [2], x: 1 },
      ],
    }),
  ).toContain('the same item twice');
});

verifies('G4', 'counts more for keys that are numbers, and for each schema that notes what it evaluates', () => {
  const keys = Object.fromEntries(list(900, (at) => [`${at}`, 1]));
  const leaf = { additionalProperties: true, minProperties: 1 };
  const repeated = (times: number, more: JsonObject = {}) =>
    of({ allOf: list(times, () => ({ $ref: '#/$defs/leaf' })), ...more }, { $defs: { leaf } });
  expect(attempt(repeated(600), { a: keys })).toEqual(tooLarge('checking'));
  expect(attempt(repeated(60), { a: keys })).toBeUndefined();
  const tracked = { items: { allOf: list(100, () => true) }, unevaluatedItems: false };
  expect(attempt(of(tracked), { a: list(8_000, () => 1) })).toEqual(tooLarge('checking'));
  expect(attempt(of(tracked), { a: list(2_000, () => 1) })).toBeUndefined();
});
