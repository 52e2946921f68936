import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json } from '../../core/call.ts';
import { checkTool } from './check-definition.ts';

const schema = (inputSchema?: Json) => checkTool({ name: 't', ...(inputSchema !== undefined && { inputSchema }) });
const nested = (levels: number): Json => (levels === 0 ? {} : { properties: { a: nested(levels - 1) } });

const USABLE: Readonly<Record<string, Json | undefined>> = {
  'no schema': undefined,
  null: null,
  true: true,
  'an empty one': {},
  'no type': { properties: { a: true } },
  'object or null': { type: ['object', 'null'] },
  'a recursive one': { type: 'object', properties: { next: { $ref: '#' } } },
};

const BROKEN: Readonly<Record<string, readonly [Json, string]>> = {
  false: [false, 'is not an object'],
  text: ['object', 'is not an object'],
  'a list': [[{ type: 'object' }], 'is not an object'],
  'another type': [{ type: 'string' }, 'does not describe an object'],
  '5 MB': [{ type: 'object', description: 'x'.repeat(5_000_000) }, 'larger than'],
  'many parts': [{ type: 'object', enum: Array.from({ length: 6000 }, () => ({})) }, 'more than 5000 parts'],
  'much depth': [nested(40), 'nested deeper'],
  'a remote reference': [{ type: 'object', $ref: 'https://example.com/x' }, 'nothing is fetched'],
  'a loop of references': [{ type: 'object', properties: { a: { $ref: '#/properties/a' } } }, 'back to itself'],
  'properties of another kind': [{ type: 'object', properties: ['a'] }, '`properties`'],
  'required of another kind': [{ type: 'object', required: true }, '`required`'],
};

for (const [what, inputSchema] of Object.entries(USABLE)) {
  verifies('R1', `a tool is usable whose input schema is ${what}`, () => {
    expect(schema(inputSchema)).toBeUndefined();
  });
}

for (const [what, [inputSchema, why]] of Object.entries(BROKEN)) {
  verifies('R1', `a tool is invalid whose input schema is ${what}`, () => {
    expect(schema(inputSchema)).toContain(why);
  });
}

verifies('R1', 'a tool with an empty or very long name is invalid', () => {
  expect(checkTool({ name: '' })).toBe('it has no name');
  expect(checkTool({ name: 'x'.repeat(257) })).toContain('longer than 256');
  expect(checkTool({ name: 'x'.repeat(256) })).toBeUndefined();
});
