import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { brokenReference } from './broken-reference.ts';
import { compileCheck } from './compile.ts';

const at = (a: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties: { a }, ...more });

const BROKEN: Readonly<Record<string, readonly [JsonObject, string]>> = {
  'another host': [at({ $ref: 'https://example.com/schema.json' }), 'leads out of it, and nothing is fetched'],
  'another file': [at({ $ref: 'other.json#/a' }), 'leads out of it'],
  'a file, in a schema with a name': [at({ $ref: 'file:///etc/passwd' }, { $id: 'https://x.test/y' }), 'leads out'],
  nothing: [at({ $ref: '#/$defs/gone' }, { $defs: {} }), 'leads to nothing'],
  itself: [at({ $ref: '#/properties/a' }), 'leads only back to itself'],
  'itself in two steps': [
    at({ $ref: '#/$defs/b' }, { $defs: { b: { $ref: '#/$defs/c' }, c: { $ref: '#/$defs/b' } } }),
    'leads only back to itself',
  ],
  'nothing, behind another reference': [
    at({ $ref: '#/$defs/b' }, { $defs: { b: { items: { $ref: '#/nowhere' } } } }),
    'leads to nothing',
  ],
};

const FINE: Readonly<Record<string, JsonObject>> = {
  'a tree of itself': at({ $ref: '#/$defs/t' }, { $defs: { t: { properties: { l: { $ref: '#/$defs/t' } } } } }),
  'the root': at({ $ref: '#' }),
  'an odd name': at({ $ref: '#/$defs/a~1b%25~0c' }, { $defs: { 'a/b%~c': { type: 'string' } } }),
  true: at({ $ref: '#/$defs/any' }, { $defs: { any: true } }),
  'an item of a list': at({ anyOf: [{ type: 'string' }, { $ref: '#/properties/a/anyOf/0' }] }),
  'nothing, inside an unused definition': at({}, { $defs: { unused: { $ref: 'https://example.com/' } } }),
  'nothing, inside an annotation': at({ default: { $ref: 'https://example.com/' }, 'x-more': { $ref: '#/gone' } }),
  'a property of that name': at({}, { properties: { $ref: { type: 'string' } } }),
};

for (const [kind, [schema, reason]] of Object.entries(BROKEN)) {
  verifies('G4', `reports a broken reference to ${kind}, as the compiler does`, async () => {
    expect(brokenReference(schema)).toContain(reason);
    expect(() => compileCheck(schema, 't')({ a: [{}] })).toThrow(/cannot be called/);
  });
}

for (const [kind, schema] of Object.entries(FINE)) {
  verifies('G4', `accepts a reference to ${kind}, as the compiler does`, async () => {
    expect(brokenReference(schema)).toBeUndefined();
    expect(() => compileCheck(schema, 't')({})).not.toThrow();
  });
}

verifies('G4', 'reports a reference to a member of Object.prototype as broken', () => {
  expect(brokenReference(at({ $ref: '#/__proto__' }))).toContain('leads to nothing');
});

verifies('G4', 'refuses no schema for its references that the compiler accepts', async () => {
  const reference = fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#/$defs/c', '#/properties/p', 'x.json', '#name');
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { depthSize: 'small' },
      fc.constant({ type: 'string' }),
      reference.map(($ref) => ({ $ref })),
      tie('schema').map((items) => ({ items })),
      tie('schema').map((p) => ({ properties: { p } })),
      fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
      tie('schema').map((value) => ({ const: value, 'x-unknown': value })),
      fc.constant({ $anchor: 'name' }),
    ),
  }));
  const whole = fc.tuple(schema, schema, schema).map(([p, a, b]) => at({}, { properties: { p }, $defs: { a, b } }));
  fc.assert(
    fc.property(whole, (one) => {
      const reason = brokenReference(one);
      // The compiler finds a reference to itself only when an input reaches it.
      if (reason === undefined || reason.includes('itself')) return;
      expect(() => compileCheck(one, 't')).toThrow();
    }),
    { numRuns: 300 },
  );
});

verifies('G4', 'follows each link of a chain of references once', () => {
  const links = 2_000;
  let reads = 0;
  const link = (index: number): JsonObject => ({
    get $ref() {
      reads++;
      return `#/$defs/d${index + 1}`;
    },
  });
  const $defs = Object.fromEntries(Array.from({ length: links }, (_, index) => [`d${index}`, link(index)]));
  const anyOf = Array.from({ length: links }, (_, index) => ({ $ref: `#/$defs/d${links - 1 - index}` }));
  const schema = at({ anyOf }, { $defs: { ...$defs, [`d${links}`]: {} } });
  expect(brokenReference(schema)).toBeUndefined();
  expect(reads).toBeLessThan(20 * links);
});
