import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Scope } from '../config.ts';
import { TREATMENT_DEFAULTS } from '../schema/defaults.ts';
import type { ServerEntry } from '../schema/schema.ts';
import { findNameProblem } from '../schema/server-name.ts';
import { valueAt } from './describe-issue.ts';
import { ENTRY_FIELDS, expandObject } from './expand.ts';
import type { Layer, LayerOptions, LayerServer } from './layer.ts';
import { serverPlaces } from './server-places.ts';

/**
 * The layer of a document with nothing in it but servers of the most common shape, which need no schema to be
 * seen to be right: most files are like that, and the schema takes longer to load than they take to read.
 * Anything else is undefined, and has to be read in full.
 */
export function fastLayer(scope: Scope, around: LayerOptions): Layer | undefined {
  const { document, foreign, serversAt = ['mcpServers'] } = around;
  const known = foreign || Object.keys(document.root).every((key) => key === 'mcpServers' || key === '$schema');
  const written = valueAt(document.root, serversAt);
  if (!known || document.findings.length > 0 || !isObject(written)) return undefined;
  const servers: LayerServer[] = [];
  for (const [name, entry] of Object.entries(written)) {
    const read = isObject(entry) ? plainServer(name, entry, around) : undefined;
    if (read === undefined) return undefined;
    servers.push(read);
  }
  return { scope, servers, settings: [], connectors: [], problems: [] };
}

function plainServer(name: string, written: JsonObject, around: LayerOptions): LayerServer | undefined {
  const { document, variables, folder, serversAt = ['mcpServers'] } = around;
  if (findNameProblem(name) !== undefined) return undefined;
  const at = [...serversAt, name];
  const plain = !JSON.stringify(written).includes('${');
  const { value, failed } = plain
    ? { value: written, failed: [] }
    : expandObject(written, { document, at, fields: ENTRY_FIELDS, variables, folder });
  const entry = failed.length === 0 ? fastEntry(value) : undefined;
  if (entry === undefined) return undefined;
  const places = () => serverPlaces(document, at, written);
  return { name, at: document.placeOf(at, 'name'), entry, written, places, problems: [] };
}

type Check = (value: Json | undefined) => boolean;

const isText: Check = (value) => typeof value === 'string' && !value.includes('\0');
const isWord: Check = (value) => isText(value) && value !== '';
const isLine: Check = (value) => typeof value === 'string' && !/[\r\n\0]/.test(value);
const isTruth: Check = (value) => typeof value === 'boolean';
const isUrl: Check = (value) =>
  typeof value === 'string' &&
  /^https?:\/\/[A-Za-z0-9.-]+(?::\d+)?(?:\/[\x21-\x7e]*)?$/.test(value) &&
  URL.canParse(value);
const each =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);

const TREATMENT: Readonly<Record<string, Check>> = {
  description: (value) => typeof value === 'string',
  enabled: isTruth,
  autoConnect: isTruth,
};
const LOCAL: Readonly<Record<string, Check>> = {
  ...TREATMENT,
  type: (value) => value === 'stdio',
  command: isWord,
  args: (value) => Array.isArray(value) && value.every(isText),
  env: each(isText),
};
const REMOTE: Readonly<Record<string, Check>> = {
  ...TREATMENT,
  type: (value) => value === 'http' || value === 'sse',
  url: isUrl,
  headers: each(isLine),
};

/** The entry with its defaults, as the schema would give it; undefined when only the schema can tell. */
export function fastEntry(value: JsonObject): ServerEntry | undefined {
  const local = value.command !== undefined;
  const checks = local ? LOCAL : REMOTE;
  if (!local && value.url === undefined) return undefined;
  const fits = Object.entries(value).every(([key, item]) => Object.hasOwn(checks, key) && checks[key]?.(item));
  if (!fits) return undefined;
  const defaults = local ? { type: 'stdio', args: [], env: {} } : { type: 'http', headers: {} };
  return { ...defaults, ...TREATMENT_DEFAULTS, ...value } as unknown as ServerEntry;
}
