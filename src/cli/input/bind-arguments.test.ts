import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { bindArguments } from './bind-arguments.ts';
import { readArguments } from './read-arguments.ts';

/** Binds words to a schema and returns the JSON that is sent. */
async function sent(inputSchema: Json, ...words: string[]): Promise<string> {
  const typed = await readArguments(words, undefined);
  return JSON.stringify(bindArguments(typed, { name: 's.t', inputSchema, signature: 't(…)' }));
}

const bound = (schema: Json, ...texts: string[]) =>
  sent({ type: 'object', properties: { a: schema } }, ...texts.map((text) => `a=${text}`));

async function failure(inputSchema: Json, ...words: string[]): Promise<string> {
  const thrown = await sent(inputSchema, ...words).catch((error) => error);
  expect(HeddleError.is(thrown) && thrown.code).toBe('INPUT_INVALID');
  return `${thrown.message} ${thrown.fix}`;
}

const unfit = (schema: Json, text: string) => failure({ properties: { a: schema } }, `a=${text}`);

const NUMBER = { type: 'number' };
const LIST = { type: 'array', items: { type: 'string' } };

describe('a text becomes the value that the schema wants:', () => {
  it.each<[string, Json, string[], string]>([
    ['a number', NUMBER, ['1.5'], '1.5'],
    ['a negative exponent', NUMBER, ['-1e-3'], '-0.001'],
    ['an integer', { type: 'integer' }, ['7'], '7'],
    ['an integer over 2^53 with all its digits', { type: 'integer' }, ['9007199254740993'], '9007199254740993'],
    ['a number too large for JavaScript', NUMBER, ['1e400'], '1e400'],
    ['true', { type: 'boolean' }, ['true'], 'true'],
    ['false', { type: 'boolean' }, ['false'], 'false'],
    ['null where it is allowed', { type: ['number', 'null'] }, ['null'], 'null'],
    ['a list by commas', LIST, ['x,y'], '["x","y"]'],
    ['a list with spaces after commas', LIST, ['x, y'], '["x","y"]'],
    ['a list of one', LIST, ['x'], '["x"]'],
    ['an empty list', LIST, [''], '[]'],
    ['a list by repetition', LIST, ['x', 'y'], '["x","y"]'],
    ['a list of numbers', { type: 'array', items: NUMBER }, ['1,2'], '[1,2]'],
    ['a list of numeric texts', LIST, ['1,2'], '["1","2"]'],
    ['a tuple', { type: 'array', prefixItems: [NUMBER, { type: 'string' }] }, ['1,2'], '[1,"2"]'],
    ['a list as JSON', LIST, ['["x,y"]'], '["x,y"]'],
    ['a list without items', { type: 'array' }, ['1,b'], '["1","b"]'],
    ['an object as JSON', { type: 'object' }, ['{"b":1}'], '{"b":1}'],
    ['an object of a schema without a type', { properties: { b: NUMBER } }, ['{"b":1}'], '{"b":1}'],
    ['a list of objects as JSON', { type: 'array', items: { type: 'object' } }, ['[{"b":1}]'], '[{"b":1}]'],
    ['a member of an enumeration', { enum: [1, 'one'] }, ['1'], '1'],
    ['a constant', { const: 5 }, ['5'], '5'],
    ['one of anyOf', { anyOf: [NUMBER, { type: 'null' }] }, ['5'], '5'],
    ['one of oneOf', { oneOf: [{ type: 'boolean' }, LIST] }, ['x,y'], '["x","y"]'],
    ['all of allOf', { allOf: [NUMBER, { minimum: 1 }] }, ['5'], '5'],
    ['a number, if the text is not in the enumeration', { anyOf: [{ enum: ['all'] }, NUMBER] }, ['5'], '5'],
  ])('%s', async (_, schema, texts, value) => {
    expect(await bound(schema, ...texts)).toBe(`{"a":${value}}`);
  });

  it.each<[string, Json, string]>([
    ['a string', { type: 'string' }, '1'],
    ['a string or a number', { type: ['string', 'number'] }, '1'],
    ['a string or null', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 'null'],
    ['a string or a list', { anyOf: [LIST, { type: 'string' }] }, 'x,y'],
    ['anything', {}, '1'],
    ['anything, by true', true, '{}'],
    ['a reference to another document', { $ref: 'https://example.com/a.json' }, '1'],
    ['a reference to itself', { $ref: '#/properties/a' }, '1'],
  ])('text that is valid as written stays text: %s', async (_, schema, text) => {
    expect(await bound(schema, text)).toBe(JSON.stringify({ a: text }));
  });
});

verifies('L2', 'follows $ref and $defs, and finds arguments in branches and additionalProperties', async () => {
  const root = {
    $ref: '#/$defs/in put~1',
    $defs: { 'in put/': { properties: { a: { $ref: '#/$defs/n' } } }, n: NUMBER },
  };
  expect(await sent({ ...root, $ref: '#/$defs/in%20put~1' }, 'a=1')).toBe('{"a":1}');
  expect(await sent({ oneOf: [{ properties: { a: NUMBER } }, { properties: { a: LIST } }] }, 'a=x')).toBe(
    '{"a":["x"]}',
  );
  expect(await sent({ additionalProperties: NUMBER }, 'any=1')).toBe('{"any":1}');
  expect(await sent({}, 'any=1', 'b:=1')).toBe('{"any":"1","b":1}');
});

verifies('L5', 'a value that does not fit names what the schema wants and what it got', async () => {
  expect(await unfit(NUMBER, 'x')).toBe('a wants a number, got "x". It takes t(…).');
  expect(await unfit(NUMBER, '01')).toContain('got "01"');
  expect(await unfit({ type: 'integer' }, '1.5')).toContain('a wants a whole number, got "1.5"');
  expect(await unfit({ type: 'boolean' }, 'yes')).toContain('a wants true or false, got "yes"');
  expect(await unfit({ type: 'array', items: NUMBER }, '1,x')).toContain('a wants a list of numbers, got "1,x"');
  expect(await unfit({ type: 'object' }, '{b:1}')).toContain('a wants an object as JSON, got "{b:1}"');
  expect(await unfit({ type: ['integer', 'null'] }, '')).toContain('a wants a whole number or null, got ""');
  expect(await unfit({ enum: ['celsius', 'kelvin'] }, 'celsus')).toBe(
    'a wants one of celsius, kelvin, got "celsus". Did you mean celsius?',
  );
  expect(await unfit(NUMBER, 'x'.repeat(100))).toContain(`got "${'x'.repeat(60)}…"`);
  expect(await failure({ properties: { a: { type: 'string' } } }, 'a=1', 'a=2')).toContain(
    'a wants text, got "1" and "2"',
  );
});

verifies('L5', 'a misspelt name is refused with the nearest one', async () => {
  const closed = { properties: { message: {}, times: {} }, additionalProperties: false };
  expect(await failure(closed, 'mesage=x')).toBe('mesage is not an argument of s.t. Did you mean message?');
  expect(await failure(closed, 'zzz=x')).toBe('zzz is not an argument of s.t. It takes t(…).');
  expect(await failure({ additionalProperties: false }, 'x=1')).toContain('It takes no arguments.');
  expect(await failure({ ...closed, additionalProperties: {}, unevaluatedProperties: false }, 'tmes:=1')).toContain(
    'times',
  );
  const open = { properties: { message: {} }, required: ['message'] };
  expect(await failure(open, 'mesage=x')).toContain('Did you mean message?');
  expect(await sent(open, 'mesage=x', 'message=y')).toBe('{"mesage":"x","message":"y"}');
  expect(await sent({ properties: { message: {} } }, 'mesage=x')).toBe('{"mesage":"x"}');
});

it('answers at once for a schema whose references multiply', async () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` };
      return [`d${at}`, { anyOf: [next, next, { allOf: [next, next] }] }];
    }),
  );
  const root = { $defs: { ...$defs, d60: NUMBER }, properties: { a: { $ref: '#/$defs/d0' } } };
  expect(await sent(root, 'a=1')).toBe('{"a":1}');
});

it('answers at once for a schema with very many alternatives', async () => {
  const anyOf = Array.from({ length: 150_000 }, () => ({ properties: { a: NUMBER } }));
  expect(await sent({ anyOf }, 'a=1')).toBe('{"a":1}');
});
