import type { IncomingHttpHeaders } from 'node:http';
import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { readHeaderValue } from '../wire/header-value.ts';
import { type Repeated, repeatedArguments } from '../wire/param-headers.ts';
import { mismatch, type Refusal } from './check-modern.ts';

/** Why the headers of a modern call do not say what its arguments say, where the tool wants some of them repeated. */
export function checkArguments(
  headers: IncomingHttpHeaders,
  inputSchema: Json | undefined,
  input: unknown,
): Refusal | undefined {
  const wrong = repeatedArguments(inputSchema, isObject(input) ? input : ({} as JsonObject)).find(
    (repeated) => !agrees(headers[repeated.header], repeated),
  );
  return wrong && mismatch(wrong.header.replaceAll(/(^|-)./g, (letter) => letter.toUpperCase()));
}

function agrees(header: string | string[] | undefined, { value }: Repeated): boolean {
  if (header === undefined || value === undefined) return header === value;
  const said = typeof header === 'string' ? readHeaderValue(header) : undefined;
  if (typeof value !== 'number') return said === String(value);
  return said !== undefined && /^-?\d+(\.0+)?$/.test(said) && Number(said) === value; // 42 and 42.0 are the same.
}
