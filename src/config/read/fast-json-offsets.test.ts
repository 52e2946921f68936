import fc from 'fast-check';
import { parseTree } from 'jsonc-parser';
import { expect, it } from 'vitest';
import type { Document } from '../document.ts';
import { fastJsonOffsets } from './fast-json-offsets.ts';
import { parseDocument } from './parse-document.ts';

function documentOf(text: string): Document {
  const document = parseDocument('f', text);
  if (!('root' in document)) throw new Error(document.message);
  return document;
}

function pathsIn(value: unknown, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...steps.flatMap((step) => pathsIn((value as Record<string, unknown>)[step], [...path, step]))];
}

it('finds the same locations as jsonc-parser for every path', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (value, indent) => {
      const text = ` ${JSON.stringify(value, null, indent)}\n`;
      fc.pre(!text.includes('"__proto__"'));
      const strict = documentOf(text);
      const commented = documentOf(`${text}// comment`);
      expect(strict.root).toEqual(commented.root);
      for (const path of pathsIn(strict.root)) {
        for (const part of ['name', 'value'] as const) {
          expect(strict.locate(path, part)).toEqual(commented.locate(path, part));
          const beyond = [...path, 'not there', 0];
          expect(strict.locate(beyond, part)).toEqual(commented.locate(beyond, part));
        }
      }
    }),
    { seed: 7433, numRuns: 300 },
  );
});

it('ignores brackets and quotes inside strings', () => {
  const text = '{"a\\"}{[":["\\\\",{"b":"]}"},-1e5,null],"c\\u0041":true}';
  const offset = fastJsonOffsets(text);
  expect(text.slice(offset(['a"}{[', 1, 'b'], 'value'))).toMatch(/^"\]\}"/);
  expect(text.slice(offset(['cA'], 'name'))).toBe('"c\\u0041":true}');
  expect(parseTree(text)?.offset).toBe(offset([], 'value'));
});
