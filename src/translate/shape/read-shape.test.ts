import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../core/call.ts';
import { lossBook } from '../loss.ts';
import { modernise } from './modernise.ts';
import { readShape } from './read-shape.ts';
import type { Shape } from './shape.ts';

const read = (schema: Json) => {
  const { add, all } = lossBook();
  const { root } = readShape(modernise(schema, '', add), { at: '' }, add);
  return { root, lost: all().map(({ pointer, keyword, effect }) => `${pointer} ${keyword} ${effect}`) };
};
const property = (shape: Shape, name: string) =>
  shape.kind === 'object' ? shape.properties.get(name)?.shape : undefined;

describe('reading a schema', () => {
  it('merges allOf into one shape', () => {
    const parts: JsonObject[] = [
      { type: 'array', minItems: 1, items: { type: 'number', minimum: 1, maximum: 9, multipleOf: 2 } },
      { type: 'array', maxItems: 4, uniqueItems: true, items: { type: 'integer', minimum: 3, multipleOf: 5 } },
    ];
    for (const allOf of [parts, parts.toReversed()]) {
      expect(read({ allOf }).root).toMatchObject({
        kind: 'array',
        minItems: 1,
        maxItems: 4,
        uniqueItems: true,
        items: { integer: true, minimum: 3, maximum: 9, multiplesOf: expect.arrayContaining([2, 5]) },
      });
    }
  });

  it('finds shapes that no value matches', () => {
    for (const impossible of [
      false,
      { allOf: [{ type: 'string' }, { type: 'number' }] },
      { allOf: [{ enum: ['a', 'b'] }, { enum: ['c'] }] },
      { type: 'object', required: ['a'], properties: { a: false } },
      { type: 'object', additionalProperties: false, required: ['a'] },
      { type: 'array', items: false, minItems: 1 },
      { type: 'string', allOf: [{ minLength: 3 }, { maxLength: 2 }] },
    ]) {
      expect(read(impossible).root.kind).toBe('never');
    }
  });

  it('applies sibling keywords to each alternative', () => {
    const { root, lost } = read({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
      unevaluatedProperties: false,
    });
    expect(root.kind).toBe('union');
    const required =
      root.kind === 'union' ? root.of.map((one) => one.kind === 'object' && one.properties.get('a')?.required) : [];
    expect(required).toEqual([true, false]);
    expect(root.kind === 'union' && root.of.map((one) => one.kind === 'object' && one.rest.kind)).toEqual([
      'never',
      'never',
    ]);
    expect(lost).toEqual([]);
  });

  it('applies matching patternProperties to a declared property', () => {
    const { root } = read({
      type: 'object',
      properties: { ab: { type: 'string' } },
      patternProperties: { '^a': { minLength: 2 } },
    });
    expect(property(root, 'ab')).toMatchObject({ kind: 'string', minLength: 2 });
  });

  it('guesses a missing type and lists the loss, but not inside oneOf', () => {
    const guessed = { type: 'object', properties: { a: { minLength: 1 } } };
    expect(read(guessed)).toMatchObject({ lost: ['/properties/a type narrower'] });
    const exclusive = read({ ...guessed, oneOf: [{ required: ['a'] }] });
    expect(exclusive.lost).toEqual([]);
    expect(property(exclusive.root, 'a')).toMatchObject({ kind: 'union' });
  });

  it('resolves anchors, and describes constraints that it cannot hold', () => {
    const { root, lost } = read({
      type: 'object',
      properties: { a: { $ref: '#here' }, b: { type: 'string', not: { const: 'x' } } },
      $defs: { H: { $anchor: 'here', type: 'boolean' } },
    });
    expect(property(root, 'a')).toMatchObject({ kind: 'reference', to: '#here' });
    expect(property(root, 'b')?.notes.description).toBe('(not: {"const":"x"})');
    expect(lost).toEqual(['/properties/b not wider']);
  });
});
