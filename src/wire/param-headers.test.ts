import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { headerValue, readHeaderValue } from './header-value.ts';
import { hasLegalParamHeaders, paramHeaders } from './param-headers.ts';

const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const annotated = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name }) as JsonObject;
const schemaOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});

verifies('T11', 'repeats the annotated arguments as headers, whatever they hold', () => {
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

it.each([
  ['plain text', 'us-west1', 'us-west1'],
  ['a space at an end', 'us-west1 ', base64('us-west1 ')],
  ['a tab', 'a\tb', base64('a\tb')],
  ['a line break', 'a\r\nx: y', base64('a\r\nx: y')],
  ['what looks encoded already', '=?base64?eA==?=', base64('=?base64?eA==?=')],
  ['nothing', '', base64('')],
])('writes %s so that it survives as a header', (_, text, value) => {
  expect(headerValue(text)).toBe(value);
});

it.each<[string, JsonObject]>([
  ['empty name', schemaOf({ a: annotated('') })],
  ['name with a space', schemaOf({ a: annotated('My Region') })],
  ['name with a colon', schemaOf({ a: annotated('Region:') })],
  ['name that is no text', schemaOf({ a: annotated(7) })],
  ['annotated object', schemaOf({ a: annotated('A', 'object') })],
  ['annotated number', schemaOf({ a: annotated('A', 'number') })],
  ['same name in another case', schemaOf({ a: annotated('A'), b: annotated('a') })],
  ['annotated item of a list', schemaOf({ a: { type: 'array', items: annotated('A') } })],
  ['annotated alternative', schemaOf({}, { anyOf: [schemaOf({ a: annotated('A') })] })],
  ['annotated definition', schemaOf({}, { $defs: { one: annotated('A') } })],
  ['annotated root', { ...schemaOf({}), 'x-mcp-header': 'A' }],
])('takes a tool for illegal that has an %s, and repeats none of its arguments', (_, schema) => {
  expect(hasLegalParamHeaders(schema)).toBe(false);
  expect(paramHeaders(schema, { a: 'x', b: 'y' })).toEqual({});
});

it('does not mistake data for an annotation', () => {
  expect(hasLegalParamHeaders(schemaOf({ a: { type: 'object', default: { 'x-mcp-header': '' } } }))).toBe(true);
  expect(hasLegalParamHeaders(undefined)).toBe(true);
});

it.each([
  ['plain text', 'us-west1', 'us-west1'],
  ['Base64', base64(' Köln'), ' Köln'],
  ['nothing in Base64', base64(''), ''],
  ['the beginning alone of Base64', '=?base64?eA==', '=?base64?eA=='],
  ['Base64 without its padding', '=?base64?eA?=', undefined],
  ['Base64 with other letters in it', '=?base64?e%A==?=', undefined],
])('reads %s out of a header', (_, value, text) => {
  expect(readHeaderValue(value)).toBe(text);
});
