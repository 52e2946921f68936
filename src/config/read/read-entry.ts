import type * as z from 'zod';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Problem } from '../config.ts';
import type { Document, DocumentFinding, JsonPath } from '../document.ts';
import type { ServerEntry } from '../schema/schema.ts';
import { findNameProblem } from '../schema/server-name.ts';
import { remoteEntry, sdkEntry, stdioEntry } from '../schema/server-schema.ts';
import { checkBySchema, describeIssues, type SchemaIssue } from './describe-issue.ts';
import { ENTRY_FIELDS, type ExpandedObject, expandObject, type Variables } from './expand.ts';
import { keysAt } from './schema-keys.ts';

export interface EntryContext {
  readonly document: Document;
  /** True for a file of another program: an unknown field is a warning, not an error. */
  readonly foreign: boolean;
  readonly variables: Variables;
  readonly folder: string;
}

export interface EntryReading {
  readonly entry?: ServerEntry;
  readonly problems: readonly Problem[];
}

const SCHEMAS = { stdio: stdioEntry, remote: remoteEntry, sdk: sdkEntry } as const;
type Kind = keyof typeof SCHEMAS;
const REMOTE_TYPES: readonly string[] = remoteEntry.shape.type.unwrap().options;
const TYPES = ['stdio', ...REMOTE_TYPES, 'sdk'];
const KIND_NAMES: Readonly<Record<Kind, string>> = {
  stdio: 'a server started by `command`',
  remote: 'a server reached by `url`',
  sdk: 'a server of type `sdk`',
};

/** Validates one entry of `mcpServers`, written at `at`, and fills in its defaults. */
export function readEntry(written: Json, at: JsonPath, context: EntryContext): EntryReading {
  const { document, variables, folder } = context;
  const name = String(at.at(-1));
  const fail = (message: string, fix: string, part: 'name' | 'value' = 'name'): EntryReading => ({
    problems: [{ level: 'error', code: 'CONFIG_INVALID', message, fix, at: document.locate(at, part), server: name }],
  });

  const badName = findNameProblem(name);
  if (badName !== undefined) return fail(badName, 'Give the server another name.');
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    return fail(`The server \`${name}\` is not an object.`, 'Write `{ "command": … }` or `{ "url": … }`.', 'value');
  }
  const own = context.foreign ? withOwnNames(written as JsonObject) : (written as JsonObject);
  const expanded = expandObject(own, { document, at, fields: ENTRY_FIELDS, variables, folder });
  const failed = own.enabled === false ? expanded.failed.filter(isNotUnset) : expanded.failed;
  if (failed.length > 0) return { problems: failed.map(({ problem }) => ({ ...problem, server: name })) };
  const value = withPlaceholders(expanded);
  const kind = kindOf(value);
  if (kind === 'both') return fail(`The server \`${name}\` has both \`command\` and \`url\`.`, 'Remove one of them.');
  if (kind === 'neither') {
    return fail(`The server \`${name}\` has neither \`command\` nor \`url\`.`, 'Add one of them.');
  }
  return checkShape(value, at, { ...context, kind });
}

/** Gives the fields that other hosts' entries have in shared files the names and values of Heddle. */
function withOwnNames({ disabled, ...entry }: JsonObject): JsonObject {
  const { type } = entry;
  const streamable = typeof type === 'string' && /^streamable[-_]?http$/i.test(type);
  const own = streamable ? { ...entry, type: 'http' } : entry;
  if (typeof disabled !== 'boolean') return disabled === undefined ? own : { ...own, disabled };
  return entry.enabled === undefined ? { ...own, enabled: !disabled } : own;
}

const isNotUnset = ({ problem }: DocumentFinding): boolean => problem.code !== 'VARIABLE_UNSET';

/** Replaces unset variables in addresses of a disabled entry, which is checked although it never starts. */
function withPlaceholders({ value, failed }: ExpandedObject): JsonObject {
  if (failed.length === 0) return value;
  const isSocket = String(value.type).startsWith('ws');
  const copy = structuredClone(value) as Record<string, Json>;
  for (const { path } of failed) {
    if (path[0] === 'url') copy.url = `${isSocket ? 'ws' : 'http'}://unset.invalid/`;
    if (path[0] === 'oauth' && isObject(copy.oauth))
      copy.oauth = { ...copy.oauth, [String(path[1])]: 'https://unset.invalid/' };
  }
  return copy as JsonObject;
}

function kindOf({ type, command, url, ...others }: JsonObject): Kind | 'both' | 'neither' {
  if (type === 'stdio' || type === 'sdk') return type;
  if (type !== undefined) return command === undefined || REMOTE_TYPES.includes(String(type)) ? 'remote' : 'stdio';
  if (command !== undefined) return url === undefined ? 'stdio' : 'both';
  if (url !== undefined) return 'remote';
  // For a misspelt `command` or `url`, "did you mean" helps more than "neither".
  const keys = Object.keys(others);
  if (closest('command', keys) !== undefined) return 'stdio';
  return closest('url', keys) === undefined ? 'neither' : 'remote';
}

function checkShape(value: JsonObject, at: JsonPath, context: EntryContext & { readonly kind: Kind }): EntryReading {
  const { document, foreign, kind } = context;
  const server = String(at.at(-1));
  const checked = {
    document,
    at,
    value,
    knownKeys: (path: JsonPath) => keysAt(SCHEMAS[kind], path),
    explainKey: (key: string) => misplaced(key, kind),
  };
  const { data, issues: found } = checkBySchema<ServerEntry>(SCHEMAS[kind], value);
  const issues = describeIssues(found.map(withEveryType), checked);
  const unknown = issues.filter(({ unknownKey }) => unknownKey);
  if (foreign && unknown.length > 0) {
    const warnings = problemsOf(unknown).map((problem) => ({ ...problem, server, level: 'warn' as const }));
    const rest = checkShape(without(value, unknown), at, context);
    return { ...rest, problems: [...warnings, ...rest.problems] };
  }
  if (data === undefined) return { problems: problemsOf(issues).map((problem) => ({ ...problem, server })) };
  const mismatch = schemeMismatch(data, server);
  if (mismatch === undefined) return { entry: data, problems: [] };
  return { problems: [{ ...mismatch, at: document.locate([...at, 'url']) }] };
}

/** Returns each problem once: issues that are not described have one in common. */
const problemsOf = (issues: readonly SchemaIssue[]): readonly Problem[] => [
  ...new Set(issues.map(({ problem }) => problem)),
];

// Each schema lists only its own types; the message lists all.
function withEveryType(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  const aboutType = issue.code === 'invalid_value' && issue.path.length === 1 && issue.path[0] === 'type';
  return aboutType ? { ...issue, values: TYPES } : issue;
}

function misplaced(key: string, kind: Kind): string | undefined {
  const other = (Object.keys(SCHEMAS) as Kind[]).find((candidate) => Object.hasOwn(SCHEMAS[candidate].shape, key));
  return other === undefined ? undefined : `belongs to ${KIND_NAMES[other]}; this is ${KIND_NAMES[kind]}`;
}

function without(value: JsonObject, unknown: readonly SchemaIssue[]): JsonObject {
  const copy = structuredClone(value) as Record<string, unknown>;
  for (const { path } of unknown) {
    const parent = path.slice(0, -1).reduce<unknown>((found, step) => (found as Record<string, unknown>)[step], copy);
    delete (parent as Record<string, unknown>)[String(path.at(-1))];
  }
  return copy as JsonObject;
}

function schemeMismatch(entry: ServerEntry, server: string): Problem | undefined {
  if (entry.type === 'stdio' || entry.type === 'sdk') return undefined;
  const socket = /^wss?:/i.test(entry.url);
  if (entry.type.startsWith('ws') === socket) return undefined;
  const [scheme, fix] = socket
    ? ['http or https', 'Add `"type": "ws"`, or write an http URL.']
    : ['ws or wss', 'Write a ws:// or wss:// URL.'];
  const message = `The server \`${server}\` is of type \`${entry.type}\`, so its \`url\` has to be ${scheme}.`;
  return { level: 'error', code: 'CONFIG_INVALID', message, fix, server };
}
