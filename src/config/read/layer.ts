import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem, Scope, SourceLocation } from '../config.ts';
import { configSchema, type Settings, settingPaths } from '../schema/schema.ts';
import { describeIssues, valueAt } from './describe-issue.ts';
import { expandObject, SETTING_FIELDS } from './expand.ts';
import type { Document, DocumentFinding, JsonPath } from './parse-document.ts';
import { type EntryContext, type EntryReading, readEntry } from './read-entry.ts';
import { keysAt } from './schema-keys.ts';
import { serverPlaces } from './server-places.ts';

/** One server as one file has it. */
export interface LayerServer extends EntryReading {
  readonly name: string;
  readonly at: SourceLocation;
  /** As the file has it. */
  readonly written?: JsonObject;
  /** It starts only after the user has agreed to it, whatever its layer says. */
  readonly needsTrust?: boolean;
  /** Where each field is written, by its dotted name within the entry. Asked for only when it is shown. */
  readonly places: () => ReadonlyMap<string, SourceLocation>;
}

/** One setting as one file has it. */
export interface LayerSetting {
  readonly path: readonly string[];
  readonly value: Json;
  readonly at: SourceLocation;
}

/** One connector as one file has it. */
export interface LayerConnector {
  readonly name: string;
  readonly url: string;
  readonly token?: string;
  /** Names that its answer may use. */
  readonly variables: readonly string[];
  /** As the file has it. */
  readonly written: JsonObject;
  readonly at: SourceLocation;
}

/** What one file says, checked and expanded. */
export interface Layer {
  readonly scope: Scope;
  /** It came with the project's folder. */
  readonly needsTrust?: boolean;
  readonly connectors: readonly LayerConnector[];
  readonly servers: readonly LayerServer[];
  readonly settings: readonly LayerSetting[];
  readonly problems: readonly Problem[];
}

export interface LayerOptions extends EntryContext {
  /** The one place where another program's settings name servers. */
  readonly serversAt?: JsonPath;
}

/** Reads one document; each entry and each setting stands or falls alone. */
export function toLayer(scope: Scope, around: LayerOptions): Layer {
  const { document, foreign } = around;
  const { at, problems } = serversPath(around);
  const written = at === undefined ? undefined : valueAt(document.root, at);
  const names = isObject(written) ? Object.keys(written) : [];
  const known = new Set<unknown>(names);
  const findings = Map.groupBy(document.findings, ({ path }) =>
    at !== undefined && startsWith(path, at) && known.has(path[at.length]) ? path[at.length] : undefined,
  );
  const servers = names.map((name) => readServer([...(at ?? []), name], findings.get(name) ?? [], around));
  const others = findings.get(undefined) ?? [];
  if (!foreign) {
    const read = readSettings(others, around);
    return { scope, servers, ...read, problems: [...problems, ...read.problems] };
  }
  const ours = others.filter(({ path }) => at !== undefined && overlaps(path, at)).map(({ problem }) => problem);
  return { scope, servers, settings: [], connectors: [], problems: [...problems, ...ours] };
}

function serversPath({ document, foreign, serversAt }: LayerOptions): { at?: JsonPath; problems: readonly Problem[] } {
  const { root } = document;
  if (serversAt !== undefined) {
    const wrong = !isObject(valueAt(root, serversAt));
    return wrong ? { problems: [notAMap(document.placeOf(serversAt))] } : { at: serversAt, problems: [] };
  }
  const all = Object.values(root);
  if (root.mcpServers !== undefined && !isObject(root.mcpServers)) {
    return { problems: foreign ? [notAMap(document.placeOf(['mcpServers']))] : [] };
  }
  if (root.mcpServers !== undefined) return { at: ['mcpServers'], problems: [] };
  if (!foreign || all.length === 0) return { problems: [] };
  const bare = all.every((value) => isObject(value) && (value.command !== undefined || value.url !== undefined));
  return bare ? { at: [], problems: [] } : { problems: [noServers(document.placeOf([]))] };
}

function readServer(at: JsonPath, findings: readonly DocumentFinding[], around: EntryContext): LayerServer {
  const { document } = around;
  const name = String(at.at(-1));
  const found = findings.map(({ problem }) => ({ ...problem, server: name }));
  const written = valueAt(document.root, at) ?? null;
  const reading = found.some(({ level }) => level === 'error') ? { problems: [] } : readEntry(written, at, around);
  return {
    ...reading,
    ...(isObject(written) && { written }),
    name,
    at: document.placeOf(at, 'name'),
    places: () => serverPlaces(document, at, written),
    problems: [...found, ...reading.problems],
  };
}

type SettingsReading = Pick<Layer, 'settings' | 'connectors' | 'problems'>;

function readSettings(findings: readonly DocumentFinding[], around: EntryContext): SettingsReading {
  const { document, variables, folder } = around;
  const { mcpServers, ...others } = document.root;
  const { value, failed } = expandObject(others, { document, at: [], fields: SETTING_FIELDS, variables, folder });
  // The entries have been checked one by one; here only the kind of `mcpServers` itself is.
  const whole: JsonObject = isObject(mcpServers) || mcpServers === undefined ? value : { ...value, mcpServers };
  const checked = { document, at: [], value: whole, knownKeys: (path: JsonPath) => keysAt(configSchema, path) };
  const complaints = describeIssues(configSchema.safeParse(whole).error?.issues ?? [], checked);
  const refused = findings.filter(({ problem }) => problem.level === 'error');
  const warnings = findings.filter(({ problem }) => problem.level === 'warn').map(({ problem }) => problem);
  const wrong = [...refused, ...failed, ...complaints];

  const sound = settingPaths.flatMap((path): LayerSetting[] => {
    const found = valueAt(value, path);
    if (found === undefined || wrong.some((bad) => overlaps(bad.path, path))) return [];
    return [{ path, value: found, at: document.placeOf(path, 'name') }];
  });
  return {
    settings: wrong.reduce(closed, sound),
    connectors: connectorsIn(value, wrong, document),
    problems: [...warnings, ...wrong.map(sayClosed)],
  };
}

function connectorsIn(
  value: JsonObject,
  wrong: readonly DocumentFinding[],
  document: Document,
): readonly LayerConnector[] {
  const items = valueAt(value, ['connectors']);
  return (Array.isArray(items) ? items : []).flatMap((item: Json, index): LayerConnector[] => {
    const path = ['connectors', index];
    const written = valueAt(document.root, path);
    if (!isObject(item) || !isObject(written) || wrong.some((bad) => overlaps(bad.path, path))) return [];
    const { name, url, token, variables = [] } = item as unknown as Settings['connectors'][number];
    return [{ name, url, variables, written, at: document.placeOf(path), ...(token !== undefined && { token }) }];
  });
}

interface Closing {
  readonly when: JsonPath;
  readonly path: readonly string[];
  readonly value: Json;
  readonly say: string;
}

// A rule that cannot be read must not mean fewer questions than its author wanted.
const STRICT = { path: ['mode'], value: 'strict', say: 'Until it is corrected every external tool asks first.' };
const NO_FILES = {
  path: ['builtins', 'filesystem', 'enabled'],
  value: false,
  say: 'Until then there are no file tools.',
};
const CLOSINGS: readonly Closing[] = [
  { when: ['mode'], ...STRICT },
  { when: ['permissions'], ...STRICT },
  { when: ['builtins', 'filesystem'], ...NO_FILES },
];

function closed(
  settings: readonly LayerSetting[],
  { path: bad, problem: { at } }: DocumentFinding,
): readonly LayerSetting[] {
  const closing = CLOSINGS.find(({ when }) => overlaps(bad, when));
  if (closing === undefined || at === undefined) return settings;
  const { path, value } = closing;
  return [...settings.filter((setting) => !overlaps(setting.path, path)), { path, value, at }];
}

function sayClosed({ path, problem }: DocumentFinding): Problem {
  const closing = CLOSINGS.find(({ when }) => overlaps(path, when));
  return closing === undefined ? problem : { ...problem, message: `${problem.message} ${closing.say}` };
}

function startsWith(path: JsonPath, start: JsonPath): boolean {
  return start.every((step, index) => path[index] === step);
}

function overlaps(a: JsonPath, b: JsonPath): boolean {
  return startsWith(a, b) || startsWith(b, a);
}

function notAMap(at: SourceLocation): Problem {
  const message = '`mcpServers` must be an object.';
  return { level: 'error', code: 'CONFIG_INVALID', message, fix: 'Write `{ "name": { "command": … } }`.', at };
}

function noServers(at: SourceLocation): Problem {
  const message = 'There is no `mcpServers` here, and not every value has a `command` or a `url`; no server is read.';
  return { level: 'warn', code: 'CONFIG_INVALID', message, fix: 'Put the servers under `mcpServers`.', at };
}
