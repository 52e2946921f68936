import type { JsonPath } from '../../config/document.ts';
import type { Edit } from '../../config/hosts/dialect.ts';
import { valueAt } from '../../config/read/describe-issue.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { canonicalJson, isObject } from '../../core/json.ts';

/** A value that `heddle connect` changed in a host's file; undefined means absent. */
export interface HostChange {
  readonly path: JsonPath;
  readonly before?: Json | undefined;
  readonly after?: Json | undefined;
}

/** The values of a file before and after the change, and the path of Heddle's entry. */
export interface ComparedValues {
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly entryPath: JsonPath;
}

/** Lists the smallest values that differ. Heddle's entry counts as one value and is recorded without its content. */
export function changesBetween({ before, after, entryPath }: ComparedValues): readonly HostChange[] {
  function compare(path: JsonPath, old: Json | undefined, now: Json | undefined): readonly HostChange[] {
    if (isEqual(old, now)) return [];
    if (isSamePath(path, entryPath)) return [{ path, before: old }];
    const isAbove = old === undefined && path.every((step, index) => entryPath[index] === step);
    if (!isObject(now) || !(isObject(old) || isAbove)) return [{ path, before: old, after: now }];
    const earlier = isObject(old) ? old : {};
    const names = [...new Set([...Object.keys(earlier), ...Object.keys(now)])];
    return names.flatMap((name) => compare([...path, name], earlier[name], now[name]));
  }
  return compare([], before, after);
}

export interface UndoPlan {
  readonly edits: readonly Edit[];
  /** The values that have changed again since, and stay. */
  readonly kept: readonly JsonPath[];
}

/** Returns the edits that take changes back in a file that was edited since. */
export function undoEdits(root: JsonObject, changes: readonly HostChange[], entryPath: JsonPath): UndoPlan {
  const edits: Edit[] = [];
  const kept: JsonPath[] = [];
  for (const { path, before, after } of changes.flatMap((change) => partsOf(change, root))) {
    const current = valueAt(root, path);
    if (isSamePath(path, entryPath) ? current === undefined : isEqual(current, before)) continue;
    if (isSamePath(path, entryPath) || isEqual(current, after)) edits.push({ path, value: before });
    else if (Array.isArray(current) && Array.isArray(after))
      edits.push({ path, value: withoutAdded(current, before, after) });
    else kept.push(path);
  }
  return { edits, kept };
}

/** Splits an object that connect created and others have changed since: only its members may be taken back. */
function partsOf(change: HostChange, root: JsonObject): readonly HostChange[] {
  const { path, before, after } = change;
  const current = valueAt(root, path);
  const isSplit = before === undefined && isObject(current) && isObject(after) && !isEqual(current, after);
  if (!isSplit) return [change];
  return Object.entries(after).flatMap(([name, value]) => partsOf({ path: [...path, name], after: value }, root));
}

/** Returns a list without the items that connect added. */
function withoutAdded(current: readonly Json[], before: Json | undefined, after: readonly Json[]): Json | undefined {
  const earlier = (Array.isArray(before) ? before : []).map((item: Json) => canonicalJson(item));
  const added = after.map((item) => canonicalJson(item)).filter((item) => !earlier.includes(item));
  const left = current.filter((item) => !added.includes(canonicalJson(item)));
  return left.length === 0 && before === undefined ? undefined : left;
}

const isSamePath = (a: JsonPath, b: JsonPath) => a.length === b.length && a.every((step, index) => step === b[index]);
const isEqual = (a: Json | undefined, b: Json | undefined) =>
  a === undefined || b === undefined ? a === b : canonicalJson(a) === canonicalJson(b);
