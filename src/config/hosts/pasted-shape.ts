import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { JsonPath } from '../document.ts';
import { valueAt } from '../read/describe-issue.ts';

/** An entry of pasted JSON, as it is written. */
export interface WrittenEntry {
  /** The name, if the JSON has one. */
  readonly name?: string;
  readonly path: JsonPath;
  readonly entry: Json;
}

/** The entries of pasted JSON; `misfit` is the first key of a text without servers. */
export type PastedShape =
  | { readonly entries: readonly WrittenEntry[]; readonly isOpencode: boolean }
  | { readonly misfit: JsonPath };

/** The paths at which hosts keep their servers. */
const BLOCKS: readonly JsonPath[] = [
  ['mcpServers'],
  ['servers'],
  ['context_servers'],
  ['mcp_servers'],
  ['mcp', 'servers'],
  ['mcp', 'mcpServers'],
  ['mcp'],
];
const OWN_KEYS = ['command', 'url', 'serverUrl', 'server_url', 'httpUrl', 'baseUrl', 'base_url', 'type', 'transport'];
/** Keys beside the servers that are no servers. */
const COMPANIONS: readonly string[] = ['$schema', 'inputs', 'imports'];

/** The known shapes, for messages. */
export const PASTED_SHAPES =
  '`{ "mcpServers": { … } }`, `{ "servers": { … } }` (VS Code), `{ "mcp": { … } }` (opencode, VS Code), ' +
  '`{ "context_servers": { … } }` (Zed), a registry’s server.json, `{ "name": { … } }`, ' +
  'and one entry with `command` or `url`';

/** Finds the servers in pasted JSON. */
export function findEntries(root: JsonObject): PastedShape {
  const block = BLOCKS.find((path) => isBlock(valueAt(root, path))) ?? dottedBlock(root);
  if (block !== undefined) return { entries: entriesIn(root, block), isOpencode: block[0] === 'mcp' };
  if (isEntry(root)) return { entries: [namedByItself(root, [])], isOpencode: false };
  const misfit = firstMisfit(root);
  return misfit === undefined ? { entries: entriesIn(root, []), isOpencode: false } : { misfit };
}

/** Returns the name that a misspelt key of an entry should have. */
export const meantKey = (path: JsonPath): string | undefined =>
  closest(String(path.at(-1)), [...OWN_KEYS, 'mcpServers', 'servers', 'context_servers']);

// A server may have the name of a block: `{ "servers": { "command": … } }`.
const isBlock = (value: Json | undefined): boolean =>
  (isObject(value) && Object.keys(value).length > 0 && !isEntry(value)) ||
  (Array.isArray(value) && value.length > 0 && value.every(isObject));

/** Finds a setting of an extension, such as `amp.mcpServers`. */
function dottedBlock(root: JsonObject): JsonPath | undefined {
  const key = Object.keys(root).find((name) => /\.mcpServers$|^mcp\.servers$/.test(name) && isBlock(root[name]));
  return key === undefined ? undefined : [key];
}

function entriesIn(root: JsonObject, path: JsonPath): readonly WrittenEntry[] {
  const block = valueAt(root, path);
  if (Array.isArray(block)) return block.map((entry: Json, index) => namedByItself(entry, [...path, index]));
  return Object.entries(isObject(block) ? block : {})
    .filter(([name]) => path.length > 0 || !COMPANIONS.includes(name))
    .map(([name, entry]) => ({ name, path: [...path, name], entry: entry ?? null }));
}

/** Takes the name out of an entry that has one, as in VS Code’s `--add-mcp`. In an `sdk` entry it is a field. */
function namedByItself(entry: Json, path: JsonPath): WrittenEntry {
  if (!isObject(entry) || typeof entry.name !== 'string' || entry.type === 'sdk') return { path, entry };
  const { name, ...rest } = entry;
  return { name, path, entry: rest };
}

function isEntry(value: JsonObject): boolean {
  const { command } = value;
  const isOldZed = isObject(command) && typeof command.path === 'string';
  return isOldZed || OWN_KEYS.some((key) => typeof value[key] === 'string') || Array.isArray(command);
}

function firstMisfit(root: JsonObject): JsonPath | undefined {
  const members = Object.entries(root).filter(([name]) => !COMPANIONS.includes(name));
  if (members.length === 0) return [];
  for (const [name, value] of members) {
    if (!isObject(value)) return [name];
    if (isEntry(value)) continue;
    const [inner] = Object.keys(value);
    // A misspelt `command` is reported with the entry.
    if (inner === undefined || meantKey([inner]) === undefined) return inner === undefined ? [name] : [name, inner];
  }
  return undefined;
}
