import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { verifies } from '../../../test/requirements.ts';
import { fromZod } from './from-zod.ts';
import { toZod } from './zod.ts';

describe('a schema as a zod type', () => {
  verifies('R9', 'accepts the values of the schema, and changes none', () => {
    const { value, lost } = toZod({
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 2, default: 'nobody' },
        tags: { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true },
        size: { oneOf: [{ type: 'integer', multipleOf: 5 }, { const: null }] },
      },
      required: ['size'],
      patternProperties: { '^x-': { type: 'string' } },
      additionalProperties: false,
    });
    expect(value.parse({ size: 5 })).toEqual({ size: 5 });
    expect(value.parse({ size: null, 'x-a': 'b', tags: ['a', 'b'] })).toEqual({
      size: null,
      'x-a': 'b',
      tags: ['a', 'b'],
    });
    for (const wrong of [
      {},
      { size: 4 },
      { size: 5, name: '𝄞' },
      { size: 5, tags: ['a', 'a'] },
      { size: 5, y: 1 },
      { size: 5, 'x-a': 1 },
    ]) {
      expect(value.safeParse(wrong).success).toBe(false);
    }
    expect(lost).toEqual([]);
  });

  it('matches patterns in linear time', () => {
    const { value } = toZod({ type: 'string', pattern: '^(a+)+$' });
    expect(value.safeParse(`${'a'.repeat(50_000)}b`).success).toBe(false);
  });

  it('converts back with every keyword', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'integer', minimum: 1, description: 'd' },
        b: { type: 'string', pattern: '^x', maxLength: 4 },
      },
      required: ['a'],
      additionalProperties: false,
    };
    expect(fromZod(toZod(schema).value)).toEqual({ value: schema, lost: [] });
  });

  it('accepts recursion, and nested alternatives in bounded time', () => {
    const tree = { type: 'object', properties: { next: { $ref: '#' } }, additionalProperties: false };
    const { value } = toZod(tree);
    expect(value.safeParse({ next: { next: {} } }).success).toBe(true);
    expect(value.safeParse({ next: { next: 1 } }).success).toBe(false);
    const either = {
      anyOf: [1, 2, 3].map((n) => ({ type: 'object', properties: { a: { $ref: '#' }, b: { const: n } } })),
    };
    let deep: object = { b: 4 };
    for (let level = 0; level < 60; level++) deep = { a: deep };
    expect(toZod(either).value.safeParse(deep).success).toBe(false);
  });
});

describe('a zod type as a schema', () => {
  verifies('R9', 'describes the input, and lists checks that only code can do', () => {
    const { value, lost } = fromZod(
      z.object({
        when: z.date(),
        name: z.string().refine((text) => text !== 'root'),
        count: z.number().default(3),
        text: z.string().transform((text) => text.length),
      }),
    );
    expect(value).toMatchObject({
      type: 'object',
      required: ['when', 'name', 'text'],
      properties: { count: { default: 3 } },
    });
    expect(lost.map(({ pointer, keyword }) => `${pointer} ${keyword}`).toSorted()).toEqual([
      '/properties/name refine',
      '/properties/when date',
    ]);
  });
});
