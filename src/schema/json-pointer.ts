import type { Json, JsonObject } from '../core/call.ts';

/** Finds the value at a JSON Pointer, percent-encoded as in a URI fragment; undefined if there is none. */
export function pointerTarget(root: JsonObject, pointer: string): Json | undefined {
  let here: Json | undefined = root;
  for (const step of pointer.split('/').slice(1).map(decoded)) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as JsonObject)[step];
  }
  return here;
}

function decoded(step: string): string {
  let plain = step;
  try {
    plain = decodeURIComponent(step);
  } catch {} // A lone % is not an escape: keep the text.
  return plain.replaceAll('~1', '/').replaceAll('~0', '~');
}
