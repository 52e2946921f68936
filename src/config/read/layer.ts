import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem, Scope, SourceLocation } from '../config.ts';
import type { Document, DocumentFinding, JsonPath } from '../document.ts';
import { CONNECTION_NAME } from '../schema/database-schema.ts';
import { configSchema, type Settings, settingPaths } from '../schema/schema.ts';
import { checkBySchema, describeIssues, hasTooManyValues, tooManyValues, valueAt } from './describe-issue.ts';
import { expandObject, SETTING_FIELDS } from './expand.ts';
import { fieldLocations } from './field-locations.ts';
import { conditionLocator, type LayerPolicy, policiesIn } from './layer-policies.ts';
import { isOwnEntry } from './own-entry.ts';
import { type EntryContext, type EntryReading, readEntry } from './read-entry.ts';
import { keysAt } from './schema-keys.ts';
import {
  NO_APPROVALS,
  NO_SAMPLING,
  STRICT,
  type Substitute,
  strictBy,
  substituteAt,
  untilCorrected,
} from './strict-by-error.ts';

/** A server of one file. */
export interface LayerServer extends EntryReading {
  readonly name: string;
  readonly at: SourceLocation;
  /** The entry as the file has it. */
  readonly written?: JsonObject;
  /** True if it needs the user's trust even in a layer that does not. */
  readonly needsTrust?: boolean;
  /** Finds the location of each field, by its dotted name within the entry. */
  readonly locations: () => ReadonlyMap<string, SourceLocation>;
}

/** A setting of one file. */
export interface LayerSetting {
  readonly path: readonly string[];
  readonly value: Json;
  /** The value as the file has it: variables are not expanded, and invalid connections are in it. */
  readonly written?: Json;
  readonly at: SourceLocation;
  /** Returns a function that locates a character of a text within the value. */
  readonly locate?: (path: JsonPath, text?: string) => (offset: number) => SourceLocation;
  /** True for a value that replaces an invalid rule: no other layer overrides it. */
  readonly isForced?: true;
  /** True for a mode that counts only where the mode of the other layers is `open`. */
  readonly isMinimum?: true;
}

/** A connector of one file. */
export interface LayerConnector {
  readonly name: string;
  readonly url: string;
  readonly token?: string;
  /** The variables that its servers may use. */
  readonly variables: readonly string[];
  /** The entry as the file has it. */
  readonly written: JsonObject;
  readonly at: SourceLocation;
}

/** The content of one source, validated and expanded. */
export interface Layer {
  readonly scope: Scope;
  /** True for a file of the project's folder. */
  readonly needsTrust?: boolean;
  readonly connectors: readonly LayerConnector[];
  readonly servers: readonly LayerServer[];
  readonly settings: readonly LayerSetting[];
  readonly policies?: readonly LayerPolicy[];
  readonly problems: readonly Problem[];
}

export interface LayerOptions extends EntryContext {
  /** The path of the servers in another program's settings. */
  readonly serversAt?: JsonPath;
}

/** Validates one document. An invalid entry or setting does not affect the others. */
export function toLayer(scope: Scope, options: LayerOptions): Layer {
  const { document, foreign } = options;
  const { at, problems } = serversPath(options);
  const written = at === undefined ? undefined : valueAt(document.root, at);
  if (hasTooManyValues(foreign ? written : document.root)) return unreadLayer(scope, document, foreign);
  const listed = isObject(written) ? written : {};
  const names = Object.keys(listed).filter((name) => !foreign || !isOwnEntry(name, listed[name]));
  const known = new Set<unknown>(names);
  const findings = Map.groupBy(document.findings, ({ path }) =>
    at !== undefined && startsWith(path, at) && known.has(path[at.length]) ? path[at.length] : undefined,
  );
  const servers = names.map((name) => readServer([...(at ?? []), name], findings.get(name) ?? [], options));
  const others = findings.get(undefined) ?? [];
  if (!foreign) {
    const read = readSettings(others, options);
    return { scope, servers, ...read, problems: [...problems, ...read.problems] };
  }
  const ours = others.filter(({ path }) => at !== undefined && overlaps(path, at)).map(({ problem }) => problem);
  return { scope, servers, settings: [], connectors: [], problems: [...problems, ...ours] };
}

/** Returns the layer of a document that is too large. Settings of Heddle may have been strict. */
function unreadLayer(scope: Scope, document: Document, foreign: boolean): Layer {
  const problems = [tooManyValues(document)];
  const nothing = { scope, servers: [], connectors: [] };
  return foreign ? { ...nothing, settings: [], problems } : { ...nothing, ...strictBy(problems) };
}

function serversPath({ document, foreign, serversAt }: LayerOptions): { at?: JsonPath; problems: readonly Problem[] } {
  const { root } = document;
  if (serversAt !== undefined) {
    const wrong = !isObject(valueAt(root, serversAt));
    return wrong ? { problems: [notAMap(document.locate(serversAt))] } : { at: serversAt, problems: [] };
  }
  const all = Object.values(root);
  if (root.mcpServers !== undefined && !isObject(root.mcpServers)) {
    return { problems: foreign ? [notAMap(document.locate(['mcpServers']))] : [] };
  }
  if (root.mcpServers !== undefined) return { at: ['mcpServers'], problems: [] };
  if (!foreign || all.length === 0) return { problems: [] };
  const bare = all.every((value) => isObject(value) && (value.command !== undefined || value.url !== undefined));
  return bare ? { at: [], problems: [] } : { problems: [noServers(document.locate([]))] };
}

function readServer(at: JsonPath, findings: readonly DocumentFinding[], context: EntryContext): LayerServer {
  const { document } = context;
  const name = String(at.at(-1));
  const found = findings.map(({ problem }) => ({ ...problem, server: name }));
  const written = valueAt(document.root, at) ?? null;
  const reading = found.some(({ level }) => level === 'error') ? { problems: [] } : readEntry(written, at, context);
  return {
    ...reading,
    ...(isObject(written) && { written }),
    name,
    at: document.locate(at, 'name'),
    locations: () => fieldLocations(document, at, written),
    problems: [...found, ...reading.problems],
  };
}

type SettingsReading = Pick<Layer, 'settings' | 'policies' | 'connectors' | 'problems'>;

function readSettings(findings: readonly DocumentFinding[], context: EntryContext): SettingsReading {
  const { document, variables, folder } = context;
  const { mcpServers, ...others } = document.root;
  const { value, failed } = expandObject(others, { document, at: [], fields: SETTING_FIELDS, variables, folder });
  // The entries are validated one by one elsewhere. Here only the type of `mcpServers` is.
  const whole: JsonObject = isObject(mcpServers) || mcpServers === undefined ? value : { ...value, mcpServers };
  const checked = { document, at: [], value: whole, knownKeys: (path: JsonPath) => keysAt(configSchema, path) };
  const issues = describeIssues(checkBySchema(configSchema, whole).issues, checked);
  const refused = findings.filter(({ problem }) => problem.level === 'error');
  const warnings = findings.filter(({ problem }) => problem.level === 'warn').map(({ problem }) => problem);
  const wrong = [...refused, ...failed, ...issues];

  const sound = settingPaths.flatMap((path): LayerSetting[] => {
    const found = valueAt(value, path);
    const bad = wrong.filter((one) => overlaps(one.path, path));
    // Rules are read one by one: an invalid one must not put the others out of force.
    if (found === undefined || path[0] === 'policies' || !bad.every(isOfConnection)) return [];
    const at = document.locate(path, 'name');
    return [
      {
        path,
        value: withoutItems(found, bad),
        written: valueAt(others, path) ?? null,
        at,
        locate: (inside, text) => conditionLocator(document, [...path, ...inside], text),
      },
    ];
  });
  return {
    settings: wrong.filter((bad) => !isOfConnection(bad)).reduce(withFallback, sound),
    ...(value.policies !== undefined && { policies: policiesIn(document, value.policies, wrong) }),
    connectors: connectorsIn(value, wrong, document),
    problems: [...warnings, ...wrong.map((finding) => describeFallback(finding, others))],
  };
}

const CONNECTIONS: JsonPath = ['builtins', 'database', 'connections'];

/** Tests whether a finding concerns one connection of a database. The other connections stay in force then. */
const isOfConnection = ({ path }: DocumentFinding): boolean =>
  path.length > CONNECTIONS.length && startsWith(path, CONNECTIONS);

function withoutItems(value: Json, bad: readonly DocumentFinding[]): Json {
  if (bad.length === 0 || !Array.isArray(value)) return value;
  const indexes = new Set(bad.map(({ path }) => path[CONNECTIONS.length]));
  return value.filter((_item, index) => !indexes.has(index));
}

function connectorsIn(
  value: JsonObject,
  wrong: readonly DocumentFinding[],
  document: Document,
): readonly LayerConnector[] {
  const items = valueAt(value, ['connectors']);
  const isWhollyWrong = wrong.some(({ path }) => path.length < 2 && (path[0] ?? 'connectors') === 'connectors');
  const bad = new Set(wrong.flatMap(({ path: [first, index] }) => (first === 'connectors' ? [index] : [])));
  return (Array.isArray(items) ? items : []).flatMap((item: Json, index): LayerConnector[] => {
    const path = ['connectors', index];
    const written = valueAt(document.root, path);
    if (!isObject(item) || !isObject(written) || isWhollyWrong || bad.has(index)) return [];
    const { name, url, token, variables = [] } = item as unknown as Settings['connectors'][number];
    return [{ name, url, variables, written, at: document.locate(path), ...(token !== undefined && { token }) }];
  });
}

// An invalid rule falls back to the strictest setting: it must not allow more than its author wanted.
interface Fallback extends Substitute {
  readonly when: JsonPath;
}

const FALLBACKS: readonly Fallback[] = [
  { when: ['mode'], ...STRICT },
  { when: ['permissions'], ...STRICT },
  { when: ['policies'], ...STRICT },
  { when: ['approvals', 'sensitiveWords'], ...STRICT },
  { when: ['approvals', 'rules'], ...NO_APPROVALS },
  { when: ['hooks'], ...STRICT },
  { when: ['limits'], ...STRICT },
  { when: ['budgets'], ...STRICT },
  { when: ['sampling'], ...NO_SAMPLING },
  ...settingPaths.flatMap(switchedOff),
];

/** Turns a built-in server off when one of its settings is invalid. */
function switchedOff(path: readonly string[]): Fallback[] {
  const [first, name = '', key] = path;
  if (first !== 'builtins' || key !== 'enabled') return [];
  return [{ when: [first, name], path, value: false, consequence: `the built-in server \`${name}\` is off` }];
}

function withFallback(
  settings: readonly LayerSetting[],
  { path: bad, problem: { at } }: DocumentFinding,
): readonly LayerSetting[] {
  if (at === undefined) return settings;
  // An invalid `builtins` concerns every built-in server.
  return FALLBACKS.filter(({ when }) => overlaps(bad, when)).reduce<readonly LayerSetting[]>(
    (rest, fallback) => [
      ...rest.filter((setting) => !overlaps(setting.path, fallback.path)),
      substituteAt(fallback, at),
    ],
    settings,
  );
}

function describeFallback(finding: DocumentFinding, written: JsonObject): Problem {
  const { path, problem } = finding;
  if (isOfConnection(finding)) {
    const name = valueAt(written, [...path.slice(0, CONNECTIONS.length + 1), 'name']);
    const connection =
      typeof name === 'string' && CONNECTION_NAME.test(name) ? `the connection \`${name}\`` : 'this connection';
    return { ...problem, message: `${problem.message} ${untilCorrected(`${connection} is left out`)}` };
  }
  const notices = new Set(
    FALLBACKS.filter(({ when }) => overlaps(path, when)).map(({ consequence }) => untilCorrected(consequence)),
  );
  return notices.size === 0 ? problem : { ...problem, message: [problem.message, ...notices].join(' ') };
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
