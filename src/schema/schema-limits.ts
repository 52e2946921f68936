import type { Json, JsonObject } from '../core/call.ts';

const MAX_CHARS = 256 * 1024;
const MAX_DEPTH = 32;
const MAX_NODES = 5_000;

/** Returns why a schema exceeds the limits on size and depth, before anything is compiled from it. */
export function brokenLimit(schema: JsonObject): string | undefined {
  let nodes = 0;

  function walk(value: Json | undefined, depth: number): string | undefined {
    if (typeof value !== 'object' || value === null) return undefined;
    nodes++;
    if (depth > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`;
    if (nodes > MAX_NODES) return `it has more than ${MAX_NODES} parts`;
    for (const child of Object.values(value)) {
      const broken = walk(child, depth + 1);
      if (broken) return broken;
    }
    return undefined;
  }

  return (
    walk(schema, 0) ??
    (JSON.stringify(schema).length > MAX_CHARS ? `it is larger than ${MAX_CHARS} characters` : undefined)
  );
}
