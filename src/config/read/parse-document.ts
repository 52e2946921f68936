import { createRequire } from 'node:module';
import type { Node } from 'jsonc-parser';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { cutText } from '../../core/text/cut-text.ts';
import type { Problem, SourceLocation } from '../config.ts';
import type { Document, DocumentFinding, JsonPath } from '../document.ts';
import { fastJsonOffsets } from './fast-json-offsets.ts';
import { rowOffsets } from './locate-in.ts';

const require = createRequire(import.meta.url);

// Loaded with the first file that needs it: most files are strict JSON.
const jsonc = () => require('jsonc-parser') as typeof import('jsonc-parser');

// Deeper than any configuration, and safe for the recursive parser.
const MAX_DEPTH = 64;
/** The longest name in a message. */
const MAX_NAME_CHARS = 200;
/** The most findings of one file. Each costs more than reading the text that it is about. */
const MAX_FINDINGS = 100;

/** Parses JSON with comments and trailing commas. Returns a syntax error as a `Problem` with its location. */
export function parseDocument(file: string, text: string): Document | Problem {
  const locationAt = locator(file, text);
  const broken = (message: string, fix: string, offset: number): Problem => ({
    level: 'error',
    code: 'CONFIG_INVALID',
    message: `${file} ${message}`,
    fix,
    at: locationAt(offset),
  });

  const strict = strictObject(text);
  if (strict !== undefined) {
    const offsetIn = fastJsonOffsets(text);
    return {
      file,
      text,
      root: strict,
      findings: [],
      locate: (path, part = 'value') => locationAt(offsetIn(path, part)),
    };
  }
  const error = firstError(text);
  if (error !== undefined) return broken(error.message, error.fix, error.offset);
  const tree = jsonc().parseTree(text, [], PARSE_OPTIONS);
  if (tree?.type !== 'object') {
    const fix = 'Replace the content of the file by an object, for example `{ "mcpServers": {} }`.';
    return broken('does not contain a JSON object.', fix, tree?.offset ?? 0);
  }
  const { members, findings, root } = readTree(tree, locationAt);
  if (findings.length > MAX_FINDINGS) {
    const fix = 'Remove the names that are repeated or not allowed.';
    return broken(`has more than ${MAX_FINDINGS} names that are written twice or not allowed.`, fix, tree.offset);
  }
  return {
    file,
    text,
    root,
    findings,
    locate: (path, part = 'value') => locationAt(offsetOf({ tree, members, path, part })),
  };
}

// JSON.parse reads files without comments and without repeated names, as most are.
function strictObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text, { maxDepth: MAX_DEPTH });
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function locator(file: string, text: string): (offset: number) => SourceLocation {
  let starts: readonly number[] | undefined;
  return (offset) => {
    starts ??= rowOffsets(text);
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

const PARSE_OPTIONS = { allowTrailingComma: true };

/** The first fault of a text. */
class SyntaxFault extends Error {
  readonly fix: string;
  readonly offset: number;

  constructor(message: string, fix: string, offset: number) {
    super(message);
    this.fix = fix;
    this.offset = offset;
  }
}

/**
 * Finds the first error, or where the text is nested too deeply. The parser would collect the errors of millions of
 * characters, and is recursive.
 */
function firstError(text: string): SyntaxFault | undefined {
  const { visit, printParseErrorCode } = jsonc();
  let depth = 0;
  const open = (offset: number) => {
    if (++depth > MAX_DEPTH)
      throw new SyntaxFault(`is nested deeper than ${MAX_DEPTH} levels.`, 'Flatten the file.', offset);
  };
  const close = () => depth--;
  function onError(code: number, offset: number): void {
    const fix = 'Correct the JSON there; comments and trailing commas are fine.';
    throw new SyntaxFault(`is not valid JSON: ${toPhrase(printParseErrorCode(code))}.`, fix, offset);
  }
  const visitor = { onError, onObjectBegin: open, onArrayBegin: open, onObjectEnd: close, onArrayEnd: close };
  try {
    visit(text, visitor, PARSE_OPTIONS);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxFault) return thrown;
    throw thrown;
  }
}

type Members = ReadonlyMap<Node, ReadonlyMap<string, Node>>;

function readTree(tree: Node, locationAt: (offset: number) => SourceLocation) {
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
        if (findings.length <= MAX_FINDINGS)
          findings.push({ path: [...path, name], problem: forbiddenName(locationAt(property.offset)) });
        continue;
      }
      const earlier = own.get(name);
      if (earlier !== undefined && findings.length <= MAX_FINDINGS) {
        const problem = writtenTwice(name, locationAt(earlier.offset), locationAt(property.offset));
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

function forbiddenName(at: SourceLocation): Problem {
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
      `\`${cutText(name, MAX_NAME_CHARS)}\` is written twice in the same object, at line ${earlier.line}, column ${earlier.column} ` +
      `and at line ${later.line}, column ${later.column}; the later one counts.`,
    fix: 'Remove one of the two.',
    at: later,
  };
}

interface OffsetQuery {
  readonly tree: Node;
  readonly members: Members;
  readonly path: JsonPath;
  readonly part: 'name' | 'value';
}

function offsetOf({ tree, members, path, part }: OffsetQuery): number {
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

/** Converts an error code such as `CommaExpected` to "comma expected". */
function toPhrase(code: string): string {
  return code.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}
