import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { ajvCheck } from '../../test/schema/ajv-check.ts';
import type { Json, JsonObject } from '../core/call.ts';
import { compileSchema } from './evaluate.ts';
import { fastCheck } from './fast-check.ts';
import { checkBudget } from './step-budget.ts';

const of = (a: Json): JsonObject => ({ type: 'object', properties: { a } });

const NAMES = ['a', 'b', 'constructor', '__proto__', 'length'];
const name = fc.constantFrom(...NAMES);
const scalar = fc.constantFrom<Json>('', 'a', '👍', '👍👍', 'abc', 0, -1, 1, 2, 1.5, 1e300, true, false, null);
const small = fc.constantFrom<Json>(0, 1, 2, 1.5);
const note = { title: fc.constant('T'), default: scalar, format: fc.constant('email'), description: fc.constant('D') };
const values = fc.array(scalar, { minLength: 1, maxLength: 4 });

const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => {
  const any = (keywords: Record<string, fc.Arbitrary<Json>>, type: string) =>
    fc
      .record({ ...note, enum: values, ...keywords }, { requiredKeys: [] })
      .chain((schema) => fc.nat(3).map((at): JsonObject => ({ ...(at === 0 ? schema : bare(schema)), type })));
  return {
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      any({ minLength: small, maxLength: small }, 'string'),
      any({ minimum: small, maximum: small }, 'number'),
      any({ minimum: small, maximum: small }, 'integer'),
      any({}, 'boolean'),
      any({}, 'null'),
      fc.record({ enum: values }, { requiredKeys: [] }),
      any({ items: tie('schema'), minItems: small, maxItems: small }, 'array'),
      any(
        {
          properties: fc.dictionary(fc.constantFrom('a', 'b', 'constructor', 'length'), tie('schema')),
          required: fc.array(name, { maxLength: 2 }),
          additionalProperties: fc.boolean(),
        },
        'object',
      ),
    ),
  };
});

function bare({ enum: _, ...schema }: Record<string, Json | undefined>): JsonObject {
  return schema;
}

const input = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
})).value;

verifies('G4', 'agrees with ajv and with the thorough check on every schema that it compiles', () => {
  let fitting = 0;
  fc.assert(
    fc.property(schema, fc.array(input, { minLength: 30, maxLength: 30 }), (one, inputs) => {
      const fits = fastCheck(one);
      expect(fits).toBeDefined();
      const [isValid, isFitting] = [ajvCheck(one), compileSchema(one, checkBudget())];
      for (const value of inputs) {
        const fit = fits?.(value);
        expect({ value, fits: fit }).toEqual({ value, fits: isValid(value) });
        expect({ value, fits: isFitting(value) }).toEqual({ value, fits: fit });
        if (fit) fitting++;
      }
    }),
    { numRuns: 300 },
  );
  expect(fitting).toBeGreaterThan(300);
});

const NOT_PLAIN: readonly JsonObject[] = [
  { $ref: '#' },
  { $defs: {} },
  { $id: 'x' },
  { title: { $id: 'x' } },
  { type: ['string', 'null'] },
  { type: 'toString' },
  { type: 'string', pattern: 'a' },
  { type: 'string', minimum: 1 },
  { type: 'string', minLength: '1' },
  { type: 'string', nullable: true },
  { type: 'string', format: 5 },
  { type: 'number', multipleOf: 2 },
  { minLength: 1 },
  { enum: [] },
  { enum: 'ab' },
  { enum: [{}] },
  { anyOf: [{}] },
  { type: 'array', items: [{}] },
  { type: 'array', prefixItems: [{}] },
  { type: 'array', uniqueItems: true },
  { type: 'object', required: 'a' },
  { type: 'object', required: [1] },
  { type: 'object', properties: [] },
  { type: 'object', properties: JSON.parse('{"__proto__":{}}') },
  { type: 'object', additionalProperties: {} },
  { type: 'object', patternProperties: {} },
];

verifies('G4', 'leaves a schema with any other keyword to the thorough check', () => {
  for (const one of NOT_PLAIN) {
    for (const within of [one, of(one), { type: 'array', items: of(one) }]) {
      expect({ within, fits: fastCheck(within) }).toEqual({ within, fits: undefined });
    }
  }
  expect(fastCheck(of(true))).toBeUndefined();
});

verifies('G4', 'refuses a hole in an array', () => {
  const fits = fastCheck({ type: 'array', items: { type: 'string' } });
  expect([fits?.(['a']), fits?.(new Array(1))]).toEqual([true, false]);
});
