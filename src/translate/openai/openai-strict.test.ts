import { describe, expect, it } from 'vitest';
import { openAiStrictProblems } from '../../../eval/dialect-rules.ts';
import { verifies } from '../../../test/requirements.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { toOpenAiStrict } from './openai-strict.ts';

const strict = (inputSchema: Json, limits?: Parameters<typeof toOpenAiStrict>[1]) => {
  const { value, lost, toArguments } = toOpenAiStrict({ name: 'tool', inputSchema }, limits);
  const parameters = value.function.parameters as JsonObject;
  expect(
    openAiStrictProblems(parameters, limits && { properties: limits.maxProperties, depth: limits.maxDepth }),
  ).toEqual([]);
  return { parameters, lost, toArguments, properties: parameters.properties as { [name: string]: JsonObject } };
};
const object = (properties: JsonObject, required: readonly string[] = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
});

describe('a tool for OpenAI, strict', () => {
  verifies('R9', 'requires every property, and accepts null for an absent one', () => {
    const { parameters, toArguments, lost } = strict(object({ a: { type: 'string' }, b: { type: 'integer' } }, ['a']));
    expect(parameters).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: ['integer', 'null'] } },
      required: ['a', 'b'],
      additionalProperties: false,
    });
    expect(toArguments({ a: 'x', b: null })).toEqual({ a: 'x' });
    expect(toArguments({ a: 'x', b: 1 })).toEqual({ a: 'x', b: 1 });
    expect(lost).toEqual([]);
  });

  it('keeps a null that the tool accepts', () => {
    const { toArguments, lost } = strict(object({ a: { type: ['string', 'null'] } }));
    expect(toArguments({ a: null })).toEqual({ a: null });
    expect(lost).toEqual([]);
  });

  it('drops nulls inside the alternative that matched', () => {
    const one = { ...object({ kind: { const: 'one' }, x: { type: 'string' } }, ['kind']), additionalProperties: false };
    const two = { ...object({ kind: { const: 'two' }, x: { type: ['string', 'null'] } }), additionalProperties: false };
    const { toArguments, lost } = strict(object({ either: { oneOf: [one, two] } }));
    expect(toArguments({ either: { kind: 'one', x: null } })).toEqual({ either: { kind: 'one' } });
    expect(toArguments({ either: { kind: 'two', x: null } })).toEqual({ either: { kind: 'two', x: null } });
    expect(lost).toEqual([]);
  });

  verifies('R9', 'writes a map as names and values, a tuple as an object, any value as JSON text', () => {
    const { toArguments, lost } = strict(
      object({
        map: { type: 'object', additionalProperties: { type: 'integer' } },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], minItems: 2, items: false },
        free: {},
      }),
    );
    const answer = {
      map: [
        { name: 'x', value: 1 },
        { name: '__proto__', value: 2 },
      ],
      pair: { item1: 'a', item2: 3 },
      free: '{"deep":[1]}',
    };
    const map = Object.fromEntries(Object.entries(JSON.parse('{"x":1,"__proto__":2}')));
    expect(toArguments(answer)).toEqual({ map, pair: ['a', 3], free: { deep: [1] } });
    expect(toArguments({ ...answer, free: 'not JSON' })).toMatchObject({ free: 'not JSON' });
    expect(lost).toEqual([]);
  });

  it('keeps recursion in definitions', () => {
    const tree = object({ value: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/Tree' } } }, [
      'value',
    ]);
    const { parameters, toArguments, lost } = strict({ $ref: '#/$defs/Tree', $defs: { Tree: tree } });
    expect(Object.keys(parameters.$defs as JsonObject)).toEqual(['Tree']);
    const answer = { value: 'a', children: [{ value: 'b', children: null }] };
    expect(toArguments(answer)).toEqual({ value: 'a', children: [{ value: 'b' }] });
    expect(lost).toEqual([]);
  });

  it('merges `allOf`', () => {
    const { properties, lost } = strict({
      allOf: [object({ a: { type: 'string' } }), object({ a: { pattern: '^x' }, b: { type: 'integer', minimum: 1 } })],
    });
    expect(properties).toEqual({ a: { type: 'string', pattern: '^x' }, b: { type: 'integer', minimum: 1 } });
    expect(lost.filter(({ effect }) => effect === 'wider')).toEqual([]);
  });

  verifies('R9', 'lists lost constraints and adds them to the description', () => {
    const { properties, lost } = strict(
      object({ a: { type: 'string', maxLength: 3, default: 'x', description: 'A thing.' } }),
    );
    expect(properties.a).toEqual({ type: 'string', description: 'A thing. (maxLength: 3) (default: "x")' });
    expect(lost).toEqual([
      {
        pointer: '/inputSchema/properties/a',
        keyword: 'maxLength',
        effect: 'wider',
        reason: 'The dialect lacks the keyword, so it is in the description only.',
      },
      {
        pointer: '/inputSchema/properties/a',
        keyword: 'default',
        effect: 'note',
        reason: 'It is in the description only.',
      },
    ]);
  });

  it('wraps an input that is no object, and unwraps the arguments', () => {
    const { parameters, toArguments } = strict({ type: 'array', items: { type: 'string' } });
    expect(parameters.required).toEqual(['input']);
    expect(toArguments({ input: ['a'] })).toEqual(['a']);
  });

  it.each([undefined, true, {}, { type: 'object' }])('takes no arguments where the schema is %j', (inputSchema) => {
    const { parameters, toArguments, lost } = strict(inputSchema as Json);
    expect(parameters).toEqual({ type: 'object', properties: {}, required: [], additionalProperties: false });
    expect(toArguments({})).toEqual({});
    expect(lost).toEqual([]);
  });

  it('stays within the limits of a model', () => {
    let deep: Json = { type: 'string' };
    for (let level = 0; level < 20; level++) deep = object({ next: deep });
    const limits = { maxDepth: 5, maxProperties: 100 };
    expect(strict(deep, limits).lost.map(({ effect }) => effect)).toEqual(['wider']);
    const wide = object(
      Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`p${at}`, object({ a: {}, b: {} })])),
    );
    expect(strict(wide, limits).lost.length).toBeGreaterThan(0);
  });

  it('lists no more values and characters than a model accepts', () => {
    const list = (count: number, chars: number) => ({
      enum: Array.from({ length: count }, (_, at) => String(at).padEnd(chars, 'x')),
    });
    expect(strict(object({ a: list(400, 5), b: list(400, 5) })).lost).toEqual([]);
    expect(strict(object({ a: list(400, 5), b: list(400, 5), c: list(400, 5) })).lost).toMatchObject([
      { pointer: '/inputSchema/properties/c', effect: 'wider' },
    ]);
    expect(strict(object({ a: list(300, 100) })).lost).toMatchObject([{ effect: 'wider' }]);
    const names = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`p${at}`.padEnd(60, 'x'), {}]));
    expect(strict(object({ a: object(names) })).lost).toMatchObject([{ effect: 'wider' }]);
  });

  it('lists mixed values by their types, and objects as strings', () => {
    const { properties, toArguments } = strict(
      object({ a: { enum: ['x', 1, null] }, b: { enum: [{ k: 1 }, '{"k":1}', ''] } }),
    );
    expect(properties.a).toEqual({
      anyOf: [{ type: 'string', enum: ['x'] }, { type: 'number', enum: [1] }, { type: 'null' }],
    });
    const texts = (properties.b as JsonObject).enum as string[];
    expect(texts.map((b) => (toArguments({ a: 1, b }) as JsonObject).b)).toEqual(['{"k":1}', { k: 1 }, '']);
  });
});
