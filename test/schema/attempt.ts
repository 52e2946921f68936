import type { Json, JsonObject } from '../../src/core/call.ts';
import { compileCheck } from '../../src/schema/compile.ts';

/** Checks arguments against a schema. Returns the problem, undefined, or the error that was thrown. */
export function attempt(schema: JsonObject, input: JsonObject): unknown {
  try {
    return compileCheck(schema, 'mcp__s__t')(input);
  } catch (thrown) {
    return thrown;
  }
}

/** A schema of objects whose argument `a` has this schema. */
export const of = (a: Json, more: JsonObject = {}): JsonObject => ({ type: 'object', properties: { a }, ...more });

export const list = <T>(length: number, make: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => make(index));
