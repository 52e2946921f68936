import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { JsonObject } from '../../core/call.ts';

/** A folder or a file:// URI as a server is told of it. */
export function toRoot(place: string): JsonObject {
  return place.includes('://') ? { uri: place } : { uri: pathToFileURL(place).href, name: basename(place) };
}
