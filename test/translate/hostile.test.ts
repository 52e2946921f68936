import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/core/call.ts';
import { toAnthropic } from '../../src/translate/anthropic.ts';
import { toGemini } from '../../src/translate/gemini/gemini.ts';
import { toOpenAi } from '../../src/translate/openai/openai.ts';
import { toOpenAiStrict } from '../../src/translate/openai/openai-strict.ts';
import { toZod } from '../../src/translate/zod/zod.ts';
import { within } from '../limits.ts';
import { verifies } from '../requirements.ts';

const all = (inputSchema: Json) =>
  [toAnthropic, toOpenAi, (tool: JsonObject) => toOpenAiStrict(tool), toGemini].map((translate) => {
    const { value, lost } = translate({ name: 'tool', inputSchema });
    expect(JSON.stringify(value).length).toBeLessThan(4_000_000);
    return lost;
  });

const numbered = (count: number, schema: (at: number) => Json): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`D${at}`, schema(at)]));

const endless: { [key: string]: Json } = { type: 'object' };
endless.properties = { a: endless };
let deep: Json = {};
for (let level = 0; level < 5_000; level++) deep = { type: 'array', items: deep };

const HOSTILE: { [name: string]: Json } = {
  'an object that holds itself': endless,
  'one nested five thousand times': deep,
  'one of a hundred thousand properties': {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`p${at}`, { type: 'string' }])),
  },
  'references in a circle': { $ref: '#/$defs/D0', $defs: numbered(3, (at) => ({ $ref: `#/$defs/D${(at + 1) % 3}` })) },
  'a long chain of references': {
    $ref: '#/$defs/D0',
    $defs: numbered(9_000, (at) => ({ $ref: `#/$defs/D${at + 1}` })),
  },
  'references that double at each step': {
    type: 'object',
    properties: { a: { $ref: '#/$defs/D0' } },
    $defs: numbered(40, (at) => {
      const next = { $ref: `#/$defs/D${at + 1}` };
      return { type: 'object', properties: { left: next, right: next }, required: ['left', 'right'] };
    }),
  },
  'alternatives that double at each step': {
    allOf: [{ enum: [1, { a: 1 }] }, { $ref: '#/$defs/D0' }],
    $defs: numbered(40, (at) => ({
      oneOf: [0, 1].map((n) => ({
        anyOf: [{ $ref: `#/$defs/D${(at + 1 + n) % 40}` }, { $ref: `#/$defs/D${(at + 2) % 40}` }],
      })),
    })),
  },
  'two recursive schemas at once': {
    allOf: ['A', 'B'].map((name) => ({ $ref: `#/$defs/${name}` })),
    $defs: {
      A: { type: 'object', properties: { next: { $ref: '#/$defs/A' }, a: { $ref: '#/$defs/B' } } },
      B: { type: 'object', properties: { next: { $ref: '#/$defs/B' }, a: { $ref: '#/$defs/A' } } },
    },
  },
  'products of alternatives': {
    type: 'object',
    allOf: Array.from({ length: 12 }, (_, at) => ({
      anyOf: Array.from({ length: 8 }, (_one, n) => ({
        properties: { [`p${at}`]: { const: n } },
        required: [`p${at}`],
      })),
    })),
  },
  'keywords of the wrong kind': {
    type: 'object',
    properties: { a: { type: 7, enum: 'x', minLength: -1, anyOf: {}, items: 3, required: true, pattern: '(' } },
    required: [1],
    $defs: [],
    $ref: {},
  } as never,
};

describe('a hostile schema', () => {
  for (const [name, schema] of Object.entries(HOSTILE)) {
    verifies('R9', `translates ${name} in time`, async () => {
      await within(10_000, () => {
        all(schema);
        toZod(schema);
      });
    });
  }

  it('does not change any prototype', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"object","properties":{"x":{}}}},"required":["__proto__"]}',
    );
    all(schema);
    const { value, toArguments } = toOpenAiStrict({ name: 'tool', inputSchema: schema });
    const [name] = Object.keys(value.function.parameters?.properties as JsonObject) as [string];
    const back = toArguments({ [name]: { x: '1' } }) as JsonObject;
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(JSON.stringify(back)).toBe('{"__proto__":{"x":1}}');
    expect(({} as JsonObject).x).toBeUndefined();
  });

  it('decodes the arguments in bounded time', () => {
    const inputSchema = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/X' } },
      $defs: {
        X: {
          anyOf: [1, 2, 3].map((n) => ({ type: 'object', properties: { a: { $ref: '#/$defs/X' }, b: { const: n } } })),
        },
      },
    };
    let value: Json = { a: null, b: 4 };
    for (let level = 0; level < 60; level++) value = { a: value, b: null };
    expect(() => toOpenAiStrict({ name: 'tool', inputSchema }).toArguments(value)).toThrow('too many alternatives');
  });
});
