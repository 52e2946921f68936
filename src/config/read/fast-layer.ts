import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Scope } from '../config.ts';
import { TREATMENT_DEFAULTS } from '../schema/defaults.ts';
import type { ServerEntry } from '../schema/schema.ts';
import { findNameProblem } from '../schema/server-name.ts';
import { hasTooManyValues, valueAt } from './describe-issue.ts';
import { ENTRY_FIELDS, expandObject } from './expand.ts';
import { fieldLocations } from './field-locations.ts';
import type { Layer, LayerOptions, LayerServer } from './layer.ts';
import { isOwnEntry } from './own-entry.ts';

/**
 * Reads a document that lists only servers of the most common shape, without zod. The fast path beside `toLayer`:
 * most files are like that, and loading the schemas takes longer than reading them. Returns undefined for any other
 * document; `toLayer` reads those.
 */
export function fastLayer(scope: Scope, options: LayerOptions): Layer | undefined {
  const { document, foreign, serversAt = ['mcpServers'] } = options;
  const known = foreign || Object.keys(document.root).every((key) => key === 'mcpServers' || key === '$schema');
  const written = valueAt(document.root, serversAt);
  if (!known || document.findings.length > 0 || !isObject(written) || hasTooManyValues(written)) return undefined;
  const servers: LayerServer[] = [];
  for (const [name, entry] of Object.entries(written)) {
    if (foreign && isOwnEntry(name, entry)) continue;
    const read = isObject(entry) ? fastServer(name, entry, options) : undefined;
    if (read === undefined) return undefined;
    servers.push(read);
  }
  return { scope, servers, settings: [], connectors: [], problems: [] };
}

function fastServer(name: string, written: JsonObject, options: LayerOptions): LayerServer | undefined {
  const { document, variables, folder, serversAt = ['mcpServers'] } = options;
  if (findNameProblem(name) !== undefined) return undefined;
  const at = [...serversAt, name];
  const plain = !JSON.stringify(written).includes('${');
  const { value, failed } = plain
    ? { value: written, failed: [] }
    : expandObject(written, { document, at, fields: ENTRY_FIELDS, variables, folder });
  const entry = failed.length === 0 ? fastEntry(value) : undefined;
  if (entry === undefined) return undefined;
  const locations = () => fieldLocations(document, at, written);
  return { name, at: document.locate(at, 'name'), entry, written, locations, problems: [] };
}

type Check = (value: Json | undefined) => boolean;

const isText: Check = (value) => typeof value === 'string' && !value.includes('\0');
const isFilledText: Check = (value) => isText(value) && value !== '';
const isHeaderValue: Check = (value) => typeof value === 'string' && !/[\r\n\0]/.test(value);
const isBoolean: Check = (value) => typeof value === 'boolean';
const isUrl: Check = (value) =>
  typeof value === 'string' &&
  /^https?:\/\/[A-Za-z0-9.-]+(?::\d+)?(?:\/[\x21-\x7e]*)?$/.test(value) &&
  URL.canParse(value);
const each =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);
const isHeaders: Check = (value) =>
  each(isHeaderValue)(value) && !Object.keys(value as JsonObject).some((name) => name.toLowerCase() === 'host');

const TREATMENT: Readonly<Record<string, Check>> = {
  description: (value) => typeof value === 'string',
  enabled: isBoolean,
  autoConnect: isBoolean,
};
const LOCAL: Readonly<Record<string, Check>> = {
  ...TREATMENT,
  type: (value) => value === 'stdio',
  command: isFilledText,
  args: (value) => Array.isArray(value) && value.every(isText),
  env: each(isText),
};
const REMOTE: Readonly<Record<string, Check>> = {
  ...TREATMENT,
  type: (value) => value === 'http' || value === 'sse',
  url: isUrl,
  headers: isHeaders,
};

/** Returns an entry with its defaults, as the zod schema does; undefined if the entry needs the schema. */
export function fastEntry(value: JsonObject): ServerEntry | undefined {
  const local = value.command !== undefined;
  const checks = local ? LOCAL : REMOTE;
  if (!local && value.url === undefined) return undefined;
  const isKnown = Object.entries(value).every(([key, item]) => Object.hasOwn(checks, key) && checks[key]?.(item));
  if (!isKnown) return undefined;
  const defaults = local ? { type: 'stdio', args: [], env: {} } : { type: 'http', headers: {} };
  return { ...defaults, ...TREATMENT_DEFAULTS, ...value } as unknown as ServerEntry;
}
