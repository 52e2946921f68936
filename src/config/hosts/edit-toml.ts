import { parse, stringify } from 'smol-toml';
import type { Json, JsonObject } from '../../core/call.ts';
import { canonicalJson, isObject } from '../../core/json.ts';
import { valueAt } from '../read/describe-issue.ts';
import type { Edit } from './dialect.ts';
import { withEdit } from './plan-edits.ts';
import { redactValue } from './redact-host.ts';
import { type TomlStatement, tomlStatements } from './toml-statements.ts';

type Names = readonly string[];

/** Parses TOML to JSON values. Throws `TomlError` for invalid TOML. */
export function parseToml(text: string): JsonObject {
  return toJson(parse(text, { maxDepth: 64, integersAsBigInt: 'asNeeded' })) as JsonObject;
}

function toJson(value: unknown): Json {
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Date || typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value as Json;
  const members = Object.entries(value).filter(([key]) => key !== '__proto__');
  return Object.fromEntries(members.map(([key, member]) => [key, toJson(member)]));
}

/** Writes values into TOML. Returns undefined if the edited text does not parse to the intended value. */
export function editToml(text: string, edits: readonly Edit[]): string | undefined {
  const before = parseToml(text);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const edited = edits.reduce((now, { path, value }) => set(now, path.map(String), value, eol), text);
  const wanted = edits.reduce(withEdit, before);
  try {
    return canonicalJson(withoutEmpty(parseToml(edited))) === canonicalJson(withoutEmpty(wanted)) ? edited : undefined;
  } catch {
    return undefined;
  }
}

// A table without its last line may be missing or empty; both count as equal.
function withoutEmpty(value: Json): Json {
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([key, one]) => [key, withoutEmpty(one ?? null)] as const);
  return Object.fromEntries(members.filter(([, one]) => canonicalJson(one) !== '{}'));
}

function set(text: string, path: Names, value: Json | undefined, eol: string): string {
  const statements = tomlStatements(text);
  const exact = statements.find((one) => one.kind === 'pair' && isSame(one.path, path));
  const around = statements.find(
    (one) => one.kind === 'pair' && one.path.length < path.length && isUnder(path, one.path),
  );
  if (exact !== undefined) return value === undefined ? without(text, [exact]) : splice(text, exact, inline(value));
  if (around !== undefined) {
    const whole = valueAt(parseToml(text), around.path);
    const changed = withEdit(isObject(whole) ? whole : {}, { path: path.slice(around.path.length), value });
    return splice(text, around, inline(changed));
  }
  const below = statements.filter(
    (one) => isUnder(one.path, path) && (value === undefined || one.path.length > path.length),
  );
  if (value === undefined) return without(text, below);
  const cleared = isObject(value) || below.length === 0 ? text : without(text, below);
  return add(cleared, path, value, eol);
}

function add(text: string, path: Names, value: Json, eol: string): string {
  const statements = tomlStatements(text);
  const parent = path.slice(0, -1);
  const sibling = statements.findLast((one) => isSame(one.table, parent)) ?? dottedSibling(statements, parent);
  if (sibling !== undefined && !isObject(value)) {
    const line = `${keyText(path.slice(sibling.table.length))} = ${inline(value)}`;
    const end = lineEnd(text, sibling.end);
    const indent = /[ \t]*$/.exec(text.slice(0, sibling.start))?.[0] ?? '';
    return `${text.slice(0, end)}${eol}${indent}${line}${text.slice(end)}`;
  }
  const block = isObject(value)
    ? tables(path, value)
    : [`[${keyText(parent)}]`, `${keyText(path.slice(-1))} = ${inline(value)}`];
  const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
  return `${text}${gap}${block.join(eol)}${eol}`;
}

const dottedSibling = (statements: readonly TomlStatement[], parent: Names) =>
  statements.findLast(
    ({ kind, path, table }) => kind === 'pair' && isUnder(path, parent) && table.length < parent.length,
  );

function tables(path: Names, value: JsonObject): readonly string[] {
  const members = Object.entries(value).filter(([, member]) => member !== undefined) as [string, Json][];
  const pairs = members.filter(([, member]) => !isObject(member));
  const nested = members.filter(([, member]) => isObject(member) && Object.keys(member).length > 0);
  return [
    `[${keyText(path)}]`,
    ...pairs.map(([key, member]) => `${keyText([key])} = ${inline(member)}`),
    ...nested.flatMap(([key, member]) => ['', ...tables([...path, key], member as JsonObject)]),
  ];
}

/** Redacts the secret values of a text. The other text, comments included, stays as it is. */
export function redactToml(text: string): string {
  const root = parseToml(text);
  const shown = redactValue(root);
  return tomlStatements(text)
    .filter(({ kind, path }) => kind === 'pair' && valueAt(root, path) !== undefined)
    .toReversed()
    .reduce((hidden, statement) => {
      const value = valueAt(shown, statement.path) ?? null;
      const same = canonicalJson(value) === canonicalJson(valueAt(root, statement.path));
      return same ? hidden : splice(hidden, statement, inline(value));
    }, text);
}

const isUnder = (path: Names, start: Names) => start.every((step, index) => path[index] === step);
const isSame = (a: Names, b: Names) => a.length === b.length && isUnder(a, b);
const keyText = (path: Names) => path.map((key) => (/^[A-Za-z0-9_-]+$/.test(key) ? key : inline(key))).join('.');
const lineEnd = (text: string, at: number) => at + (/^[^\r\n]*/.exec(text.slice(at))?.[0].length ?? 0);

function inline(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((one: Json) => inline(one)).join(', ')}]`;
  if (!isObject(value)) return stringify({ key: value }).trim().slice('key = '.length);
  const members = Object.entries(value).map(([key, member]) => `${keyText([key])} = ${inline(member ?? '')}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function splice(text: string, { value, end }: TomlStatement, content: string): string {
  return text.slice(0, value) + content + text.slice(end);
}

/** Removes the lines of statements, with the comments at their ends. */
function without(text: string, statements: readonly TomlStatement[]): string {
  return statements.toReversed().reduce((left, { start, end }) => {
    const from = start - (/[ \t]*$/.exec(left.slice(0, start))?.[0].length ?? 0);
    const rest = left.slice(lineEnd(left, end)).replace(/^\r?\n/, '');
    return left.slice(0, from) + rest;
  }, text);
}
