import { expect } from 'vitest';
import type { Json, JsonObject } from '../../src/core/call.ts';
import { compileCheck } from '../../src/schema/compile.ts';
import { within } from '../limits.ts';
import { verifies } from '../requirements.ts';

const tooLarge = (what: 'checking' | 'matching patterns') =>
  expect.objectContaining({ code: 'INPUT_INVALID', message: expect.stringContaining(`: ${what} takes more than`) });
const attempt = (schema: JsonObject, input: JsonObject) => {
  try {
    return compileCheck(schema, 'mcp__s__t')(input);
  } catch (thrown) {
    return thrown;
  }
};
const of = (a: Json, more: JsonObject = {}): JsonObject => ({ type: 'object', properties: { a }, ...more });
const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index));

verifies('G4', 'counts the instructions that a pattern visits in an empty text', async () => {
  const optional = of({ items: { pattern: `^${'a?'.repeat(9_900)}$` } });
  const empty = { a: list(4_000, () => '') };
  expect(await within(2_000, () => attempt(optional, empty))).toEqual(tooLarge('matching patterns'));
  expect(attempt(of({ items: { pattern: '^[a-z]*$' } }), empty)).toBeUndefined();
});
