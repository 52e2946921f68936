import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { findParamHeaderMismatch, hasLegalParamHeaders, paramHeaders } from './param-headers.ts';

const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const annotated = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name }) as JsonObject;
const schemaOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});

verifies('T11', 'repeats the annotated arguments as encoded headers', () => {
  const schema = schemaOf({
    region: annotated('Region'),
    count: annotated('Count', 'integer'),
    dry: annotated('Method', 'boolean'),
    plain: { type: 'string' },
    where: schemaOf({ city: annotated('City') }),
    missing: annotated('Missing'),
    nothing: annotated('Nothing'),
    float: annotated('Float', 'integer'),
    inherited: schemaOf({ constructor: annotated('Constructor') }),
  });
  const args = { region: 'us west 1', count: 42, dry: false, plain: 'x', where: { city: ' Köln' }, nothing: null };
  expect(paramHeaders(schema, { ...args, float: 1.5, inherited: {} })).toEqual({
    'mcp-param-region': 'us west 1',
    'mcp-param-count': '42',
    'mcp-param-method': 'false',
    'mcp-param-city': base64(' Köln'),
  });
  expect(paramHeaders(undefined, args)).toEqual({});
});

it.each<[string, JsonObject]>([
  ['empty name', schemaOf({ a: annotated('') })],
  ['name with a space', schemaOf({ a: annotated('My Region') })],
  ['name with a colon', schemaOf({ a: annotated('Region:') })],
  ['name that is no string', schemaOf({ a: annotated(7) })],
  ['annotated object', schemaOf({ a: annotated('A', 'object') })],
  ['annotated number', schemaOf({ a: annotated('A', 'number') })],
  ['same name in another case', schemaOf({ a: annotated('A'), b: annotated('a') })],
  ['annotated item of a list', schemaOf({ a: { type: 'array', items: annotated('A') } })],
  ['annotated alternative', schemaOf({}, { anyOf: [schemaOf({ a: annotated('A') })] })],
  ['annotated definition', schemaOf({}, { $defs: { one: annotated('A') } })],
  ['annotated root', { ...schemaOf({}), 'x-mcp-header': 'A' }],
])('rejects a schema with an illegal annotation: %s', (_, schema) => {
  expect(hasLegalParamHeaders(schema)).toBe(false);
  expect(paramHeaders(schema, { a: 'x', b: 'y' })).toEqual({});
});

it('ignores x-mcp-header inside a default value', () => {
  expect(hasLegalParamHeaders(schemaOf({ a: { type: 'object', default: { 'x-mcp-header': '' } } }))).toBe(true);
  expect(hasLegalParamHeaders(undefined)).toBe(true);
});

it.each<[string, JsonObject, Record<string, string | null>, string | undefined]>([
  ['an equal text', { region: 'west' }, { 'mcp-param-region': 'west' }, undefined],
  ['an integer with zero decimals', { count: 42 }, { 'mcp-param-count': '42.0' }, undefined],
  ['a header of no argument of the tool', {}, { 'mcp-param-other': 'x' }, undefined],
  ['a missing header', { region: 'west' }, {}, 'Mcp-Param-Region'],
  ['another text', { region: 'west' }, { 'mcp-param-region': 'east' }, 'Mcp-Param-Region'],
  ['a header without its argument', {}, { 'mcp-param-region': 'west' }, 'Mcp-Param-Region'],
  ['a value that could not be decoded', { region: 'null' }, { 'mcp-param-region': null }, 'Mcp-Param-Region'],
  ['an integer in another notation', { count: 42 }, { 'mcp-param-count': '0x2a' }, 'Mcp-Param-Count'],
])('compares %s with the arguments', (_, args, headers, mismatch) => {
  const schema = schemaOf({ region: annotated('Region'), count: annotated('Count', 'integer') });
  expect(findParamHeaderMismatch(headers, schema, args)).toBe(mismatch);
});
