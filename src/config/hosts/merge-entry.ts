import type { Json, JsonObject } from '../../core/call.ts';
import { canonicalJson, isObject } from '../../core/json.ts';
import type { JsonPath } from '../document.ts';
import type { Edit, HostDialect } from './dialect.ts';
import { readDotted } from './dotted.ts';

/** An entry in a host's format. */
export interface HostEntry {
  readonly entry: JsonObject;
  /** The fields that could not be translated; the host's own values there stay. */
  readonly untranslated: readonly JsonPath[];
}

/** Returns the edits of an existing entry: only Heddle's fields, the host's additional ones stay. */
export function mergeEdits(
  current: JsonObject,
  { entry, untranslated }: HostEntry,
  dialect: HostDialect,
): readonly Edit[] {
  const { lenses, wrapped = [] } = dialect;
  const owned = [...new Set([...Object.keys(entry), ...lenses.map(({ host }) => host), ...wrapped])];
  const protectedPaths = new Set(untranslated.map(pathText));
  return owned
    .filter((name) => !owned.some((other) => other.startsWith(`${name}.`)))
    .flatMap((name) => differences(name.split('.'), readDotted(current, name), readDotted(entry, name)))
    .filter(({ path }) => !protectedPaths.has(pathText(path)));
}

/** Compares member by member, so that comments inside an object stay. */
function differences(path: JsonPath, before: Json | undefined, wanted: Json | undefined): readonly Edit[] {
  if (isObject(before) && isObject(wanted)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(wanted)])];
    return names.flatMap((name) => differences([...path, name], before[name], wanted[name]));
  }
  if (isEmpty(before) && isEmpty(wanted)) return [];
  return canonicalJson(before) === canonicalJson(wanted) ? [] : [{ path, value: wanted }];
}

// For every host an empty object means the same as none.
const isEmpty = (value: Json | undefined) =>
  value === undefined || (isObject(value) && Object.keys(value).length === 0);

/** Returns a new entry without empty fields. */
export function newEntry({ entry }: HostEntry): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => !isEmpty(value)));
}

const pathText = (path: JsonPath) => JSON.stringify(path);
