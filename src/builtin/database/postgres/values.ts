import type { Json } from '../../../core/call.ts';
import { DatabaseFailure, wrongParamCount } from '../database-failure.ts';
import { exactJson, exactNumber } from '../exact-values.ts';

type Decode = (text: string) => Json;

const asNumber: Decode = (text) => Number(text);
/** Postgres writes the shortest digits that read back as the same value, as JavaScript does. */
function float(text: string): Json {
  const value = Number(text);
  return Number.isFinite(value) && !Object.is(value, -0) ? value : text;
}

const base64: Decode = (text) => (text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex').toString('base64') : text);

/** Decoders by the OID of the type. All other types stay as the database writes them. */
const DECODERS: ReadonlyMap<number, Decode> = new Map<number, Decode>([
  [16, (text) => text === 't'],
  [17, base64],
  [20, exactNumber],
  [21, asNumber],
  [23, asNumber],
  [26, asNumber],
  [114, exactJson],
  [700, float],
  [701, float],
  [1700, exactNumber],
  [3802, exactJson],
]);

const asText: Decode = (text) => text;

/** The type parsers for `pg`: values lose nothing. */
export const VALUE_TYPES = { getTypeParser: (oid: number): Decode => DECODERS.get(oid) ?? asText };

const MAX_PARAMS = 10_000;

/** Converts the values of parameters. Throws a `DatabaseFailure` if their count is not that of the statement. */
export function toParams(params: readonly Json[], expected: number): readonly (string | null)[] {
  if (params.length > MAX_PARAMS) {
    throw invalid(`There are ${params.length} values in params, and ${MAX_PARAMS} are allowed.`);
  }
  if (params.length !== expected) throw wrongParamCount(expected, params.length);
  return params.map((value, at) => {
    const text = toText(value);
    if (text?.includes('\0')) throw invalid(`The value ${at + 1} of params contains a NUL. Remove it.`);
    return text;
  });
}

const invalid = (text: string): DatabaseFailure => new DatabaseFailure('INPUT_INVALID', text);

/** Objects and arrays become JSON. */
function toText(value: Json): string | null {
  if (value === null || typeof value === 'string') return value;
  return JSON.stringify(value);
}
