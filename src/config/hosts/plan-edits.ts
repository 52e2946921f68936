import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { JsonPath } from '../document.ts';
import { valueAt } from '../read/describe-issue.ts';
import type { Edit, HostDialect } from './dialect.ts';
import type { HostServers } from './host-format.ts';
import { mergeEdits, newEntry } from './merge-entry.ts';
import { writtenNameOf } from './read-servers.ts';
import { toEntry } from './to-entry.ts';

interface PlanOptions {
  readonly servers: HostServers;
  /** The current value of the file. */
  readonly root: JsonObject;
  readonly at: JsonPath;
  readonly dialect: HostDialect;
}

export interface Plan {
  readonly edits: readonly Edit[];
  readonly notes: readonly string[];
}

/** Returns the edits that add servers to a host's file. */
export function planEdits({ servers, root, at, dialect }: PlanOptions): Plan {
  const notes: string[] = [];
  const edits: Edit[] = [];
  const block = valueAt(root, at);
  const current: JsonObject = isObject(block) ? block : {};
  let state = root;
  for (const [name, ours] of Object.entries(servers)) {
    const report = { note: (note: string) => void notes.push(`\`${name}\`: ${note}`), problem: () => undefined };
    const wanted = toEntry(ours, dialect, report);
    if (wanted === undefined) continue;
    const key = writtenNameOf(name, current) ?? name;
    const before = current[key];
    const own: readonly Edit[] = isObject(before)
      ? mergeEdits(before, wanted, dialect)
      : [{ path: [], value: newEntry(wanted) }];
    edits.push(...own.map(({ path, value }) => ({ path: [...at, key, ...path], value })));
    const switched = dialect.switches?.edits(state, key, ours.enabled === false) ?? [];
    edits.push(...switched);
    state = switched.reduce(withEdit, state);
  }
  return { edits, notes };
}

interface DisableOptions extends Omit<PlanOptions, 'servers'> {
  readonly names: readonly string[];
}

/** Returns the edits that keep servers from starting. A host without a setting for it loses their entries. */
export function planDisable({ names, root, at, dialect }: DisableOptions): readonly Edit[] {
  const block = valueAt(root, at);
  const current: JsonObject = isObject(block) ? block : {};
  const edits: Edit[] = [];
  let state = root;
  for (const key of names.map((name) => writtenNameOf(name, current)).filter((one) => one !== undefined)) {
    const own = disableEdits(key, { root: state, at, dialect });
    edits.push(...own);
    state = own.reduce(withEdit, state);
  }
  return edits;
}

function disableEdits(key: string, { root, at, dialect }: Omit<PlanOptions, 'servers'>): readonly Edit[] {
  if (dialect.switches !== undefined) return dialect.switches.edits(root, key, true);
  const field = switchOf(dialect);
  if (field === undefined) return [{ path: [...at, key], value: undefined }];
  const path = [...at, key, ...field.host.split('.')];
  const value = field.as === 'inverse';
  return valueAt(root, path) === value ? [] : [{ path, value }];
}

/** Returns the field of an entry that disables its server. */
const switchOf = ({ lenses }: HostDialect) => lenses.find(({ ours }) => ours === 'enabled');

/** Tells whether a host has a setting that disables a server. */
export const hasSwitch = (dialect: HostDialect): boolean =>
  dialect.switches !== undefined || switchOf(dialect) !== undefined;

/** Returns the value with one edit applied. */
export function withEdit(root: JsonObject, { path: [first, ...rest], value }: Edit): JsonObject {
  if (first === undefined) return isObject(value) ? value : root;
  const inner = root[first];
  const member: Json | undefined =
    rest.length === 0 ? value : withEdit(isObject(inner) ? inner : {}, { path: rest, value });
  return Object.fromEntries(Object.entries({ ...root, [first]: member }).filter(([, one]) => one !== undefined));
}
