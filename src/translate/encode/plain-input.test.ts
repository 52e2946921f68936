import { describe, expect, it } from 'vitest';
import { anthropicProblems, openAiProblems } from '../../../eval/dialect-rules.ts';
import { verifies } from '../../../test/requirements.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { fromAnthropic, toAnthropic } from '../anthropic.ts';
import { toGemini } from '../gemini/gemini.ts';
import { fromOpenAi, toOpenAi } from '../openai/openai.ts';

const claude = (inputSchema: Json, others: JsonObject = {}) => {
  const translated = toAnthropic({ name: 'tool', inputSchema, ...others });
  expect(anthropicProblems({ ...translated.value })).toEqual([]);
  return { ...translated, schema: translated.value.input_schema };
};
const openAi = (tool: JsonObject) => {
  const translated = toOpenAi(tool);
  expect(openAiProblems({ ...translated.value })).toEqual([]);
  return translated;
};

describe('a tool for Claude', () => {
  verifies('R9', 'keeps a 2020-12 schema unchanged', () => {
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/A' }, b: { oneOf: [{ const: 1 }, { not: { type: 'null' } }] } },
      patternProperties: { '^x': { type: 'string', format: 'uri', 'x-note': { any: [1] } } },
      dependentRequired: { a: ['b'] },
      $defs: { A: { type: 'array', prefixItems: [true], items: false } },
    };
    expect(claude(schema)).toMatchObject({ schema, lost: [] });
  });

  verifies('R9', 'rewrites older drafts', () => {
    const { schema, lost } = claude({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        pair: { type: 'array', items: [{ type: 'string' }, { $ref: '#/definitions/N' }], additionalItems: false },
        n: { type: 'number', minimum: 1, exclusiveMinimum: true, nullable: true },
      },
      dependencies: { n: ['pair'], pair: { required: ['n'] } },
      definitions: { N: { type: 'integer' } },
    });
    expect(schema).toEqual({
      type: 'object',
      properties: {
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { $ref: '#/$defs/N' }], items: false },
        n: { type: ['number', 'null'], exclusiveMinimum: 1 },
      },
      dependentRequired: { n: ['pair'] },
      dependentSchemas: { pair: { required: ['n'] } },
      $defs: { N: { type: 'integer' } },
    });
    expect(lost).toEqual([]);
  });

  it('wraps alternatives at the root, with their references, and unwraps the arguments', () => {
    const { schema, toArguments, lost } = claude({
      anyOf: [{ $ref: '#/$defs/A' }, { type: 'object', required: ['x'] }],
      $defs: { A: { type: 'object', properties: { again: { $ref: '#' } } } },
    });
    const inside = (schema.properties as JsonObject).input as JsonObject;
    expect(inside.anyOf).toMatchObject([{ $ref: '#/properties/input/$defs/A' }, {}]);
    expect(inside.$defs).toEqual({ A: { type: 'object', properties: { again: { $ref: '#/properties/input' } } } });
    expect(toArguments({ input: { x: 1 } })).toEqual({ x: 1 });
    expect(lost).toEqual([]);
  });

  it('renames properties that it does not allow, and restores them', () => {
    const { schema, toArguments } = claude({
      type: 'object',
      properties: { $top: {}, p__top: {} },
      required: ['$top'],
    });
    expect(schema).toEqual({ type: 'object', properties: { p__top_2: {}, p__top: {} }, required: ['p__top_2'] });
    expect(toArguments({ p__top_2: 1, p__top: 2 })).toEqual({ $top: 1, p__top: 2 });
  });

  verifies('R9', 'removes and lists a reference that leaves the document, and fetches nothing', () => {
    const { schema, lost } = claude({ type: 'object', properties: { a: { $ref: 'https://example.com/s.json' } } });
    expect(schema).toEqual({ type: 'object', properties: { a: {} } });
    expect(lost).toMatchObject([{ keyword: '$ref', effect: 'wider' }]);
  });

  it.each([undefined, true, {}])('replaces a schema that is %j', (inputSchema) => {
    expect(claude(inputSchema as Json)).toMatchObject({ schema: { type: 'object' }, lost: [] });
  });

  it('lists the fields that a definition has besides', () => {
    const { value, lost } = claude({ type: 'object' }, { annotations: { readOnlyHint: true }, title: 'Tool' });
    expect(value).toEqual({ name: 'tool', description: 'Tool', input_schema: { type: 'object' } });
    expect(lost.map(({ pointer }) => pointer)).toEqual(['/annotations', '/title']);
  });

  verifies('R9', 'converts back unchanged', () => {
    const tool = { name: 'a', description: 'd', input_schema: { type: 'object', properties: { x: {} } } };
    const { value, lost } = fromAnthropic({ ...tool, cache_control: { type: 'ephemeral' } });
    expect(toAnthropic({ ...value }).value).toEqual(tool);
    expect(lost.map(({ pointer }) => pointer)).toEqual(['/cache_control']);
  });
});

verifies('R8', 'cuts the description of a tool for a model to 4096 characters, and lists the loss', () => {
  const tool = { name: 'a', description: 'x'.repeat(10_000), inputSchema: { type: 'object' } };
  for (const { value, lost } of [toAnthropic(tool), toGemini(tool)]) {
    expect(value.description).toHaveLength(4096);
    expect(value.description).toMatch(/x… \[cut\]$/);
    expect(lost).toMatchObject([{ pointer: '/description', effect: 'note' }]);
  }
});

describe('a function for OpenAI', () => {
  verifies('R9', 'has a short description, an allowed name, and items in each array', () => {
    const inputSchema = { type: 'object', properties: { a: { type: 'array' } } };
    const { value, lost } = openAi({ name: 'wéird.name', description: 'x'.repeat(2_000), inputSchema });
    expect(value.function.description).toHaveLength(1_024);
    expect(value.function.description?.endsWith('… [cut]')).toBe(true);
    expect(value.function.parameters).toEqual({ type: 'object', properties: { a: { type: 'array', items: {} } } });
    expect(lost.map(({ keyword }) => keyword)).toEqual(['name', 'description']);
    expect(openAi({ name: 'weird_name' }).value.function.name).not.toBe(
      openAi({ name: 'weird.name' }).value.function.name,
    );
  });

  verifies('R9', 'converts back from both notations', () => {
    const body = { name: 'f', description: 'd', parameters: { type: 'object', properties: { a: {} } } };
    const tool = { name: 'f', description: 'd', inputSchema: body.parameters };
    expect(fromOpenAi({ type: 'function', function: body })).toEqual({ value: tool, lost: [] });
    expect(fromOpenAi({ type: 'function', ...body, strict: true })).toMatchObject({
      value: tool,
      lost: [{ pointer: '/strict' }],
    });
    expect(fromOpenAi({ type: 'function', function: { name: 'g' } }).value).toEqual({
      name: 'g',
      inputSchema: { type: 'object' },
    });
  });
});
