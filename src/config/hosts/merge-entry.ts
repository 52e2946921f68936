import type { Json, JsonObject } from '../../core/call.ts';
import { canonicalJson, isObject } from '../../core/json.ts';
import type { JsonPath } from '../document.ts';
import type { Edit, HostDialect } from './dialect.ts';
import { readDotted } from './dotted.ts';

/** An entry as a host writes it. */
export interface HostEntry {
  readonly entry: JsonObject;
  /** What could not be said; where the host has something of its own there, it stays. */
  readonly unsaid: readonly JsonPath[];
}

/** What to change in an entry the host has already: our fields only, what the host adds to them stays. */
export function mergeEdits(current: JsonObject, { entry, unsaid }: HostEntry, dialect: HostDialect): readonly Edit[] {
  const { lenses, wrapped = [] } = dialect;
  const owned = [...new Set([...Object.keys(entry), ...lenses.map(({ host }) => host), ...wrapped])];
  const kept = new Set(unsaid.map(pathText));
  return owned
    .filter((name) => !owned.some((other) => other.startsWith(`${name}.`)))
    .flatMap((name) => differences(name.split('.'), readDotted(current, name), readDotted(entry, name)))
    .filter(({ path }) => !kept.has(pathText(path)));
}

/** Member by member, so that comments inside an object stay. */
function differences(path: JsonPath, before: Json | undefined, wanted: Json | undefined): readonly Edit[] {
  if (isObject(before) && isObject(wanted)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(wanted)])];
    return names.flatMap((name) => differences([...path, name], before[name], wanted[name]));
  }
  if (isNothing(before) && isNothing(wanted)) return [];
  return canonicalJson(before) === canonicalJson(wanted) ? [] : [{ path, value: wanted }];
}

// To every host an empty object is as good as none.
const isNothing = (value: Json | undefined) =>
  value === undefined || (isObject(value) && Object.keys(value).length === 0);

/** An entry the host does not have yet, without what says nothing. */
export function newEntry({ entry }: HostEntry): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => !isNothing(value)));
}

const pathText = (path: JsonPath) => JSON.stringify(path);
