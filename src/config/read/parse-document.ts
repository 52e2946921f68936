import { createRequire } from 'node:module';
import type { Node, ParseError } from 'jsonc-parser';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { Problem, SourceLocation } from '../config.ts';
import { fastJsonOffsets } from './fast-json-offsets.ts';

const require = createRequire(import.meta.url);

// Loaded with the first file that needs it: most are JSON as JSON is.
const jsonc = () => require('jsonc-parser') as typeof import('jsonc-parser');

export type JsonPath = readonly (string | number)[];

/** Something odd that does not make the file unreadable, and where in the file's value it sits. */
export interface DocumentFinding {
  readonly path: JsonPath;
  readonly problem: Problem;
}

/** One file's value, and where each part of it is written. */
export interface Document {
  readonly file: string;
  readonly root: JsonObject;
  readonly findings: readonly DocumentFinding[];
  /** Of the value or of its name; of the nearest thing around it when it is not written at all. */
  placeOf(path: JsonPath, part?: 'name' | 'value'): SourceLocation;
}

// Far deeper than any configuration, far shallower than the stack of the parser.
const MAX_DEPTH = 64;

/** Reads JSON with comments; a syntax error is a `Problem` with its line and column. */
export function parseDocument(file: string, text: string): Document | Problem {
  const placeAt = placesIn(file, text);
  const broken = (message: string, fix: string, offset: number): Problem => ({
    level: 'error',
    code: 'CONFIG_INVALID',
    message: `${file} ${message}`,
    fix,
    at: placeAt(offset),
  });

  const strict = strictObject(text);
  if (strict !== undefined) {
    const offsetIn = fastJsonOffsets(text);
    return { file, root: strict, findings: [], placeOf: (path, part = 'value') => placeAt(offsetIn(path, part)) };
  }
  const tooDeep = offsetTooDeep(text);
  if (tooDeep !== undefined) {
    return broken(`is nested deeper than ${MAX_DEPTH} levels.`, 'Flatten the file.', tooDeep);
  }
  const { parseTree, printParseErrorCode } = jsonc();
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    return broken(
      `is not valid JSON: ${words(printParseErrorCode(error.error))}.`,
      'Correct the JSON there; comments and trailing commas are fine.',
      error.offset,
    );
  }
  if (tree?.type !== 'object') {
    return broken('does not hold a JSON object.', 'Write `{}` around what is in the file.', tree?.offset ?? 0);
  }
  const { members, findings, root } = readTree(tree, placeAt);
  return { file, root, findings, placeOf: (path, part = 'value') => placeAt(offsetOf({ tree, members, path, part })) };
}

// Most files have no comments and nothing twice; those the quick parser reads.
function strictObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text, { maxDepth: MAX_DEPTH });
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function placesIn(file: string, text: string): (offset: number) => SourceLocation {
  let known: readonly number[] | undefined;
  return (offset) => {
    known ??= lineStarts(text);
    const starts = known;
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { file, line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (const match of text.matchAll(/\r\n|\n|\r/g)) starts.push(match.index + match[0].length);
  return starts;
}

// The parser is recursive, so depth is counted before it runs.
function offsetTooDeep(text: string): number | undefined {
  const scanner = jsonc().createScanner(text, true);
  let depth = 0;
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const first = text[scanner.getTokenOffset()];
    if (first === '{' || first === '[') depth++;
    if (first === '}' || first === ']') depth--;
    if (depth > MAX_DEPTH) return scanner.getTokenOffset();
  }
  return undefined;
}

type Members = ReadonlyMap<Node, ReadonlyMap<string, Node>>;

function readTree(tree: Node, placeAt: (offset: number) => SourceLocation) {
  const members = new Map<Node, Map<string, Node>>();
  const findings: DocumentFinding[] = [];

  function toJson(node: Node, path: JsonPath): Json {
    if (node.type === 'array') return (node.children ?? []).map((item, index) => toJson(item, [...path, index]));
    if (node.type === 'object') return toObject(node, path);
    return node.value as Json;
  }

  function toObject(node: Node, path: JsonPath): JsonObject {
    const own = new Map<string, Node>();
    members.set(node, own);
    for (const property of node.children ?? []) {
      const name = String(property.children?.[0]?.value);
      if (name === '__proto__') {
        findings.push({ path: [...path, name], problem: refused(placeAt(property.offset)) });
        continue;
      }
      const earlier = own.get(name);
      if (earlier !== undefined) {
        const problem = writtenTwice(name, placeAt(earlier.offset), placeAt(property.offset));
        findings.push({ path: [...path, name], problem });
      }
      own.set(name, property);
    }
    const entries = [...own].flatMap(([name, { children }]) =>
      children?.[1] === undefined ? [] : [[name, toJson(children[1], [...path, name])] as const],
    );
    return Object.fromEntries(entries);
  }

  return { root: toObject(tree, []), members, findings };
}

function refused(at: SourceLocation): Problem {
  return {
    level: 'error',
    code: 'CONFIG_INVALID',
    message: 'The name `__proto__` is not allowed anywhere in a configuration.',
    fix: 'Remove `__proto__`.',
    at,
  };
}

function writtenTwice(name: string, earlier: SourceLocation, later: SourceLocation): Problem {
  return {
    level: 'warn',
    code: 'CONFIG_INVALID',
    message:
      `\`${name}\` is written twice in the same object, at line ${earlier.line}, column ${earlier.column} ` +
      `and at line ${later.line}, column ${later.column}; the later one counts.`,
    fix: 'Remove one of the two.',
    at: later,
  };
}

interface Wanted {
  readonly tree: Node;
  readonly members: Members;
  readonly path: JsonPath;
  readonly part: 'name' | 'value';
}

function offsetOf({ tree, members, path, part }: Wanted): number {
  let node = tree;
  let offset = tree.offset;
  for (const step of path) {
    const property = typeof step === 'string' ? members.get(node)?.get(step) : undefined;
    const child = property?.children?.[1] ?? (typeof step === 'number' ? node.children?.[step] : undefined);
    if (child === undefined) return offset;
    node = child;
    offset = part === 'name' && property !== undefined ? property.offset : child.offset;
  }
  return offset;
}

/** `CommaExpected` as a reader says it. */
function words(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}
