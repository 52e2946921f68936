import { describe, expect, it } from 'vitest';
import { geminiProblems } from '../../../eval/dialect-rules.ts';
import { verifies } from '../../../test/requirements.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { fromGemini } from './from-gemini.ts';
import { toGemini } from './gemini.ts';

const gemini = (properties: JsonObject, others: JsonObject = {}) => {
  const inputSchema = { type: 'object', properties, required: Object.keys(properties), ...others };
  const { value, lost, toArguments } = toGemini({ name: 'tool', inputSchema });
  expect(geminiProblems({ ...value })).toEqual([]);
  return { lost, toArguments, properties: value.parameters?.properties as { [name: string]: JsonObject } };
};

describe('a function for Gemini', () => {
  verifies('R9', 'has one upper-case type each, and a separate nullable', () => {
    const { properties, lost } = gemini({
      a: { type: ['string', 'null'], maxLength: 5 },
      b: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }], description: 'Either.' },
    });
    expect(properties).toEqual({
      a: { type: 'STRING', maxLength: '5', nullable: true },
      b: { anyOf: [{ type: 'INTEGER', nullable: true, description: 'Either.' }, { type: 'STRING' }] },
    });
    expect(lost).toEqual([]);
  });

  it('lists numbers and other values as strings, and decodes them unchanged', () => {
    const { properties, toArguments } = gemini({ a: { enum: [1, 2, '1', ''] } });
    expect(properties.a?.enum).toEqual(['1', '(1)', '2', '""']);
    expect(['1', '(1)', '2', '""'].map((a) => toArguments({ a }))).toEqual([{ a: '1' }, { a: 1 }, { a: 2 }, { a: '' }]);
  });

  verifies('R9', 'cuts recursion at a depth and lists the loss', () => {
    const { lost, toArguments } = gemini(
      { a: { $ref: '#/$defs/N' } },
      {
        $defs: { N: { type: 'object', properties: { next: { $ref: '#/$defs/N' } }, additionalProperties: false } },
      },
    );
    expect(lost.map(({ keyword, effect }) => `${keyword} ${effect}`)).toEqual(['$ref wider']);
    expect(toArguments({ a: { next: { next: { next: '{"next":{}}' } } } })).toEqual({
      a: { next: { next: { next: { next: {} } } } },
    });
  });

  it('turns exclusive bounds of integers into inclusive ones', () => {
    const { properties, lost } = gemini({ a: { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 } });
    expect(properties.a).toEqual({ type: 'INTEGER', minimum: 1, maximum: 9 });
    expect(lost).toEqual([]);
    expect(gemini({ a: { type: 'number', exclusiveMinimum: 0 } }).lost[0]).toMatchObject({
      keyword: 'exclusiveMinimum',
    });
  });

  it('has no parameters when the tool takes none', () => {
    expect(toGemini({ name: 'ping' }).value).toEqual({ name: 'ping', description: 'ping' });
  });

  it('renames properties that it does not allow, and restores them', () => {
    const { properties, toArguments } = gemini({
      $filter: { type: 'string' },
      p_filter: { type: 'string' },
      'a b': {},
    });
    expect(Object.keys(properties)).toEqual(['p_filter_2', 'p_filter', 'a_b']);
    expect(toArguments({ p_filter_2: 'x', p_filter: 'y', a_b: '1' })).toEqual({
      $filter: 'x',
      p_filter: 'y',
      'a b': 1,
    });
  });
});

describe('a function of Gemini', () => {
  verifies('R9', 'converts to a tool with the same schema', () => {
    const { value, lost } = fromGemini({
      name: 'f',
      description: 'd',
      parameters: {
        type: 'OBJECT',
        properties: {
          b: { type: 'STRING', nullable: true, enum: ['x'], format: 'enum' },
          a: { type: 'ARRAY', items: { type: 'INTEGER', format: 'int32' }, minItems: '2', example: [1] },
        },
        propertyOrdering: ['a', 'b'],
        required: ['a'],
      },
      behavior: 'BLOCKING',
    });
    const properties = {
      a: { type: 'array', items: { type: 'integer', format: 'int32' }, minItems: 2, examples: [[1]] },
      b: { type: ['string', 'null'], enum: ['x', null] },
    };
    expect(value).toEqual({
      name: 'f',
      description: 'd',
      inputSchema: { type: 'object', properties, required: ['a'] },
    });
    expect(Object.keys(value.inputSchema.properties as JsonObject)).toEqual(['a', 'b']);
    expect(lost.map(({ pointer }) => pointer)).toEqual(['/behavior']);
  });

  it('cuts an endless schema', () => {
    const endless: { [key: string]: Json } = { type: 'OBJECT' };
    endless.properties = { a: endless };
    expect(fromGemini({ name: 'f', parameters: endless }).lost.map(({ effect }) => effect)).toEqual(['wider']);
  });
});
