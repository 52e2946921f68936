import { resolve } from 'node:path';
import type { Json, JsonObject } from '../../core/call.ts';
import type { HeddleError } from '../../core/errors.ts';
import type { Problem } from '../config.ts';
import type { Document, DocumentFinding, JsonPath } from './parse-document.ts';

/** What `${…}` may stand for. */
export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workspaceFolder: string;
  readonly userHome: string;
  /** By name, what is set; an error where it is there and cannot be opened. */
  readonly secrets?: ReadonlyMap<string, string | HeddleError>;
  /** The only names that are expanded: variables, `workspaceFolder`, `userHome`, `secret:name`. Without it, all are. */
  readonly listed?: ReadonlySet<string>;
}

const OURS = /^HEDDLE_/i;

/** Returns the variables without Heddle's own, which hold its tokens and keys; `except` stay. */
export function withoutOurs(variables: Variables, except = /^$/): Variables {
  const env = Object.entries(variables.env).filter(([name]) => !OURS.test(name) || except.test(name));
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
const VARIABLE = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** Expands one string in one pass: what a variable brings in is not looked at again. */
export function expandText(text: string, variables: Variables): Expansion {
  if (!text.includes('${')) return { text, failures: [] };
  const failures: Failure[] = [];
  const expanded = text.replace(REFERENCE, (whole, inside: string | undefined, closed: string) => {
    if (inside === undefined) return '${';
    const value = closed === '' ? unclosed(whole) : lookUp(inside, variables);
    if (typeof value === 'string') return value;
    failures.push(value);
    return whole;
  });
  return { text: expanded, failures };
}

function lookUp(inside: string, variables: Variables): string | Failure {
  const { env, listed, secrets } = variables;
  const isSecret = inside.startsWith('secret:');
  const [, name, fallback] = isSecret ? [inside, inside] : (VARIABLE.exec(inside) ?? []);
  // Nested references would end up in the value as they stand, and no one would notice.
  if (name === undefined || fallback?.includes('${')) return notUnderstood(inside);
  if (listed !== undefined && !listed.has(name)) return fallback ?? unlisted(name);
  if (isSecret) return secretOf(name.slice('secret:'.length), secrets);
  if (inside === 'workspaceFolder' || inside === 'userHome') return variables[inside];
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (fallback !== undefined) return value || fallback;
  return value ?? unset(name);
}

function unlisted(name: string): Failure {
  return {
    code: 'VARIABLE_UNSET',
    message: `\`${name}\` is not listed in \`variables\` of the connector, so its answer cannot use it.`,
    fix: `Add \`${name}\` to \`variables\` if the connector may have it.`,
  };
}

function unset(name: string): Failure {
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
    fix: `Set it with \`heddle secret set ${name}\`.`,
  };
}

function notUnderstood(inside: string): Failure {
  return {
    code: 'CONFIG_INVALID',
    message: `\`\${${inside}}\` is not something Heddle expands.`,
    fix: 'Write `${VARIABLE}` or `${VARIABLE:-default}` without nesting, or `$${` for a literal `${`.',
  };
}

function unclosed(whole: string): Failure {
  return {
    code: 'CONFIG_INVALID',
    message: `\`${whole}\` has no closing \`}\`.`,
    fix: 'Close it with `}`, or write `$${` for a literal `${`.',
  };
}

/** Which strings are expanded, and which of them are paths, by their path within the object. */
export interface Fields {
  readonly expands: (path: JsonPath) => boolean;
  readonly isPath: (path: JsonPath) => boolean;
  /** Where a secret has no place, because what stands there is shown. */
  readonly isShown?: (path: JsonPath) => boolean;
}

const WHOLLY_EXPANDED = new Set<string | number>(['command', 'args', 'env', 'cwd', 'url', 'headers', 'oauth']);

export const ENTRY_FIELDS: Fields = {
  expands: (path) => WHOLLY_EXPANDED.has(path[0] ?? '') || isSandboxPath(path),
  isPath: (path) => (path[0] === 'cwd' && path.length === 1) || isSandboxPath(path),
};

// An address, or SQLite's name for a database that is never written to a disk.
const NO_PATH = /:\/\/|^:memory:$/;

export const SETTING_FIELDS: Fields = {
  expands: ([first, second, third]) =>
    first === 'builtins' ||
    first === 'roots' ||
    (first === 'connectors' && (third === 'url' || third === 'token')) ||
    (first === 'gateway' && second === 'auth'),
  isPath: (path) => isBuiltinPath(path) || path[0] === 'roots' || (path[0] === 'store' && path.length === 1),
  // Roots are told to every server, and who issues tokens to every client.
  isShown: ([first, , third]) =>
    first === 'roots' || first === 'gateway' || (first === 'connectors' && third === 'url'),
};

function isSandboxPath([first, second]: JsonPath): boolean {
  return first === 'sandbox' && second === 'allowedPaths';
}

function isBuiltinPath([first, second, third]: JsonPath): boolean {
  return first === 'builtins' && second === 'filesystem' && third === 'allowedPaths';
}

interface ExpandOptions {
  readonly document: Document;
  /** Where in the document the object is. */
  readonly at: JsonPath;
  readonly fields: Fields;
  readonly variables: Variables;
  /** Folder that relative paths start from. */
  readonly folder: string;
}

export interface ExpandedObject {
  readonly value: JsonObject;
  readonly failed: readonly DocumentFinding[];
}

/** Expands an object as written in a file, and makes its paths absolute. */
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
    for (const failure of expansion.failures) failed.push({ path, problem: placed(failure, path) });
    const isPath = fields.isPath(path) && expansion.text !== '' && !NO_PATH.test(expansion.text);
    return isPath ? resolve(folder, expansion.text) : expansion.text;
  }

  function placed({ code, message, fix }: Failure, path: JsonPath): Problem {
    return { level: 'error', code, message, fix, at: document.placeOf([...at, ...path]) };
  }

  return { value: visitMembers(written, []), failed };
}
