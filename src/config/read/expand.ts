import { resolve } from 'node:path';
import type { Json, JsonObject } from '../../core/call.ts';
import type { HeddleError } from '../../core/errors.ts';
import { cutText } from '../../core/text/cut-text.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { Problem } from '../config.ts';
import type { Document, DocumentFinding, JsonPath } from '../document.ts';
import { valueAt } from './describe-issue.ts';

/** The values that `${…}` may refer to. */
export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workspaceFolder: string;
  readonly userHome: string | undefined;
  /** The secrets that are set, by name; an error for one that cannot be decrypted. */
  readonly secrets?: ReadonlyMap<string, string | HeddleError>;
  /** The only names to expand: variables, `workspaceFolder`, `userHome`, `secret:name`. Without it, all are expanded. */
  readonly listed?: ReadonlySet<string>;
}

/** The most failures that are described for one object. */
const MAX_DESCRIBED = 100;
const MAX_SHOWN_CHARS = 200;

const HEDDLE_VARIABLE = /^HEDDLE_/i;

/** Removes the variables `HEDDLE_*`, which hold Heddle's tokens and keys. */
export function withoutHeddleVariables(variables: Variables): Variables {
  const env = Object.entries(variables.env).filter(([name]) => !HEDDLE_VARIABLE.test(name));
  return { ...variables, env: Object.fromEntries(env) };
}

interface Failure {
  readonly code: Problem['code'];
  readonly message: string;
  readonly fix: string;
}

export interface Expansion {
  readonly text: string;
  readonly failures: readonly Failure[];
}

const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g;
// The names that `heddle secret set` accepts.
const SECRET = /^secret:[A-Za-z0-9_.-]{1,128}$/;
const VARIABLE = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** Expands one string in one pass: `${…}` in the value of a variable stays as it is. */
export function expandText(text: string, variables: Variables): Expansion {
  if (!text.includes('${')) return { text, failures: [] };
  const failures: Failure[] = [];
  const expanded = text.replace(REFERENCE, (whole, inside: string | undefined, closed: string) => {
    if (inside === undefined) return '${';
    const value = closed === '' ? unclosed(whole) : valueOfReference(inside, variables);
    if (typeof value === 'string') return value;
    if (failures.length < MAX_DESCRIBED) failures.push(value);
    return whole;
  });
  return { text: expanded, failures };
}

function valueOfReference(inside: string, variables: Variables): string | Failure {
  const { env, listed, secrets } = variables;
  const isSecret = inside.startsWith('secret:');
  const [, name, fallback] = isSecret ? secretReference(inside) : (VARIABLE.exec(inside) ?? []);
  // A nested reference would stay unexpanded in the value, and the user would not notice.
  if (name === undefined || fallback?.includes('${')) return unknownReference(inside);
  if (listed !== undefined && !listed.has(name)) return fallback ?? unlisted(name);
  if (isSecret) return secretOf(name.slice('secret:'.length), secrets);
  if (inside === 'workspaceFolder') return variables.workspaceFolder;
  if (inside === 'userHome') return variables.userHome ?? unset('HOME');
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (fallback !== undefined) return value || fallback;
  return value ?? unset(name);
}

const secretReference = (inside: string) => (SECRET.test(inside) ? [inside, inside] : []);

// A backtick would end the quotation in a message.
const withoutBackticks = (text: string) => cutText(text, MAX_SHOWN_CHARS).replaceAll('`', String.raw`\x60`);

function unlisted(whole: string): Failure {
  const name = cutText(whole, MAX_SHOWN_CHARS);
  return {
    code: 'VARIABLE_UNSET',
    message: `\`${name}\` is not listed in \`variables\` of the connector, so its servers cannot use it.`,
    fix: `Add \`${name}\` to \`variables\` if the connector may use it.`,
  };
}

function unset(whole: string): Failure {
  const name = cutText(whole, MAX_SHOWN_CHARS);
  return {
    code: 'VARIABLE_UNSET',
    message: `The variable \`${name}\` is not set and has no default.`,
    fix: `Set \`${name}\` in the environment, or write \`\${${name}:-default}\`.`,
  };
}

function secretOf(name: string, secrets: Variables['secrets']): string | Failure {
  const found = secrets?.get(name);
  if (found === undefined || typeof found === 'string') return found ?? unsetSecret(name);
  return { code: 'CONFIG_INVALID', message: found.message, fix: found.fix };
}

function unsetSecret(name: string): Failure {
  return {
    code: 'VARIABLE_UNSET',
    message: `The secret \`${name}\` is not set.`,
    fix: `Set it with \`heddle secret set ${quoteName(name)}\`.`,
  };
}

function unknownReference(inside: string): Failure {
  return {
    code: 'CONFIG_INVALID',
    message: `\`\${${withoutBackticks(inside)}}\` is not something Heddle expands.`,
    fix: 'Write `${VARIABLE}` or `${VARIABLE:-default}` without nesting, or `$${` for a literal `${`.',
  };
}

function unclosed(whole: string): Failure {
  return {
    code: 'CONFIG_INVALID',
    message: `\`${withoutBackticks(whole)}\` has no closing \`}\`.`,
    fix: 'Close it with `}`, or write `$${` for a literal `${`.',
  };
}

/** Rules for the strings of an object, by their path within it. */
export interface Fields {
  readonly expands: (path: JsonPath) => boolean;
  readonly isPath: (path: JsonPath, written: JsonObject) => boolean;
  /** True for fields that are shown to others: secrets are not expanded in them. */
  readonly isShown?: (path: JsonPath) => boolean;
}

const WHOLLY_EXPANDED = new Set<string | number>(['command', 'args', 'env', 'cwd', 'url', 'headers', 'oauth']);

export const ENTRY_FIELDS: Fields = {
  expands: (path) => WHOLLY_EXPANDED.has(path[0] ?? '') || isSandboxPath(path),
  isPath: (path) => (path[0] === 'cwd' && path.length === 1) || isAssertionFile(path) || isSandboxPath(path),
};

// A URL, or SQLite's name for a database in memory.
const NO_PATH = /:\/\/|^:memory:$/;

// Never shown, so that they may be secrets.
const HIDDEN_IN_CONNECTION = new Set<string | number | undefined>(['url', 'username', 'password']);

export const SETTING_FIELDS: Fields = {
  expands: ([first, second, third, fourth]) =>
    first === 'builtins' ||
    first === 'roots' ||
    first === 'xaa' ||
    (first === 'hooks' && fourth !== 'tools') ||
    (first === 'connectors' && (third === 'url' || third === 'token')) ||
    (first === 'gateway' && second === 'auth'),
  isPath: (path, written) =>
    isBuiltinPath(path) ||
    isSqliteFile(path, written) ||
    path[0] === 'roots' ||
    (path[0] === 'store' && path.length === 1),
  // Every server sees the roots, every client the names of databases and the issuer in `gateway.auth`, every user of the machine a command line.
  isShown: ([first, , third, fourth, fifth]) =>
    first === 'roots' ||
    (third === 'connections' && !HIDDEN_IN_CONNECTION.has(fifth)) ||
    (first === 'hooks' && fourth === 'command') ||
    (first === 'gateway' && third !== 'clientSecret') ||
    (first === 'connectors' && third === 'url'),
};

function isAssertionFile([first, second]: JsonPath): boolean {
  return first === 'oauth' && second === 'assertionFile';
}

function isSandboxPath([first, second]: JsonPath): boolean {
  return first === 'sandbox' && second === 'allowedPaths';
}

function isBuiltinPath([first, , third]: JsonPath): boolean {
  return first === 'builtins' && third === 'allowedPaths';
}

/** Tests whether a path is that of the file of a SQLite connection. */
function isSqliteFile(path: JsonPath, written: JsonObject): boolean {
  const isDatabase = path[0] === 'builtins' && path[2] === 'connections' && path[4] === 'database';
  return isDatabase && valueAt(written, [...path.slice(0, 4), 'type']) === 'sqlite';
}

interface ExpandOptions {
  readonly document: Document;
  /** The path of the object in the document. */
  readonly at: JsonPath;
  readonly fields: Fields;
  readonly variables: Variables;
  /** The folder that relative paths are resolved against. */
  readonly folder: string;
}

export interface ExpandedObject {
  readonly value: JsonObject;
  readonly failed: readonly DocumentFinding[];
}

/** Expands the variables of an object as written in a file, and makes its paths absolute. */
export function expandObject(written: JsonObject, options: ExpandOptions): ExpandedObject {
  const { document, at, fields, variables, folder } = options;
  const failed: DocumentFinding[] = [];

  function visit(value: Json, path: JsonPath): Json {
    if (typeof value === 'string') return visitText(value, path);
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (typeof value === 'object' && value !== null) return visitMembers(value as JsonObject, path);
    return value;
  }

  function visitMembers(value: JsonObject, path: JsonPath): JsonObject {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item ?? null, [...path, key])]));
  }

  const withoutSecrets: Variables = { ...variables, secrets: new Map() };

  function visitText(text: string, path: JsonPath): string {
    const expansion: Expansion = fields.expands(path)
      ? expandText(text, fields.isShown?.(path) ? withoutSecrets : variables)
      : { text, failures: [] };
    for (const failure of expansion.failures) failed.push({ path, problem: problemOf(failure, path) });
    const isPath = fields.isPath(path, written) && expansion.text !== '' && !NO_PATH.test(expansion.text);
    return isPath ? resolve(folder, expansion.text) : expansion.text;
  }

  /** Returns a problem for the failure; for one after the first 100, the last of those. */
  function problemOf(failure: Failure, path: JsonPath): Problem {
    return (failed.length < MAX_DESCRIBED ? undefined : failed.at(-1)?.problem) ?? toProblem(failure, path);
  }

  function toProblem({ code, message, fix }: Failure, path: JsonPath): Problem {
    return { level: 'error', code, message, fix, at: document.locate([...at, ...path]) };
  }

  return { value: visitMembers(written, []), failed };
}
