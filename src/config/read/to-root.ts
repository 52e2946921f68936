import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { JsonObject } from '../../core/call.ts';

/** Converts a path or a file:// URI to an MCP root. */
export function toRoot(pathOrUri: string): JsonObject {
  if (pathOrUri.includes('://')) return { uri: pathOrUri };
  return { uri: pathToFileURL(pathOrUri).href, name: basename(pathOrUri) };
}
