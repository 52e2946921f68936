import {
  Composer,
  CST,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  type Document as YamlDocument,
} from 'yaml';
import type { Json, JsonObject } from '../../core/call.ts';
import type { Problem, SourceLocation } from '../config.ts';
import type { Document, JsonPath } from '../document.ts';

const MAX_CHARS = 1_000_000;
const MAX_DEPTH = 64;

/** A value that YAML has and JSON has not, or that is not allowed in a configuration. */
class Unsuitable extends Error {
  readonly offset: number;

  constructor(reason: string, offset: number) {
    super(reason);
    this.offset = offset;
  }
}

/** The tokens that some files may have in all. Each takes about 4 µs. */
export interface TokenBudget {
  readonly most: number;
  left: number;
}

/**
 * Parses YAML of the kind that JSON could express too. Anchors, aliases, tags, repeated keys and keys that are not text
 * are problems with a location, so that nothing expands. It ends at the first error.
 */
export function parseYamlDocument(file: string, text: string, budget: TokenBudget): Document | Problem {
  const lines = new LineCounter();
  const locationAt = (offset: number): SourceLocation => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const broken = (reason: string, offset: number): Problem => ({
    level: 'error',
    code: 'CONFIG_INVALID',
    message: `${file} ${reason}.`,
    fix: 'Correct the YAML there.',
    at: locationAt(offset),
  });
  if (text.length > MAX_CHARS) return broken(`has more than ${MAX_CHARS} characters of YAML`, 0);
  try {
    requirePlain(text, budget);
    const contents = parse(text, lines);
    const root = contents === null ? {} : toJson(contents, 0);
    if (typeof root !== 'object' || root === null || Array.isArray(root)) {
      return broken('does not contain a mapping; write `policies:` and the list of rules below it', 0);
    }
    const offsetOf = offsetsIn(contents);
    const locate = (path: JsonPath, part: 'name' | 'value' = 'value') => locationAt(offsetOf(path, part));
    return { file, text, root: root as JsonObject, findings: [], locate };
  } catch (thrown) {
    if (thrown instanceof TooManyTokens) return tooLarge(file, budget.most);
    if (thrown instanceof Unsuitable) return broken(`is not valid YAML: ${thrown.message}`, thrown.offset);
    return broken(`is not valid YAML: ${firstSentence(String((thrown as Error).message))}`, 0);
  }
}

/** The YAML files of one folder have more tokens together than are read. */
class TooManyTokens extends Error {}

const tooLarge = (file: string, most: number): Problem => ({
  level: 'error',
  code: 'CONFIG_INVALID',
  message: `${file} is not read: the YAML files of its folder have more than ${most} tokens together.`,
  fix: 'Remove rules from the largest of these files.',
  at: { file, line: 1, column: 1 },
});

const REFUSED: Partial<Record<CST.TokenType, string>> = {
  alias: 'aliases are not allowed',
  anchor: 'anchors are not allowed',
  tag: 'tags are not allowed',
};
const HAS_NO_TEXT: ReadonlySet<CST.TokenType | null> = new Set(['doc-mode', 'flow-error-end']);
const OPENS: ReadonlySet<CST.TokenType | null> = new Set(['flow-map-start', 'flow-seq-start']);
const CLOSES: ReadonlySet<CST.TokenType | null> = new Set(['flow-map-end', 'flow-seq-end']);
const NESTS_ON_ITS_LINE: ReadonlySet<CST.TokenType | null> = new Set(['seq-item-ind', 'explicit-key-ind']);
const TOO_DEEP = `it is nested deeper than ${MAX_DEPTH} levels`;

/**
 * Refuses anchors, aliases, tags, deep nesting and too many tokens before anything is composed: many of them take
 * seconds or quadratic time.
 */
function requirePlain(text: string, budget: TokenBudget): void {
  let offset = 0;
  let isScalarNext = false;
  const nesting: Nesting = { open: 0, onLine: 0 };
  for (const lexeme of new Lexer().lex(text)) {
    const type: CST.TokenType | null = isScalarNext ? null : CST.tokenType(lexeme);
    isScalarNext = type === 'scalar';
    const reason = type === null ? undefined : REFUSED[type];
    if (reason !== undefined) throw new Unsuitable(reason, offset);
    if (--budget.left < 0) throw new TooManyTokens();
    if (depthAfter(type, nesting) > MAX_DEPTH) throw new Unsuitable(TOO_DEEP, offset);
    if (!isScalarNext && !HAS_NO_TEXT.has(type)) offset += lexeme.length;
  }
}

interface Nesting {
  /** Open braces and brackets. */
  open: number;
  /** Lists and keys that begin on this line: `- - - a`. */
  onLine: number;
}

function depthAfter(type: CST.TokenType | null, nesting: Nesting): number {
  if (type === 'newline') nesting.onLine = 0;
  if (NESTS_ON_ITS_LINE.has(type)) nesting.onLine++;
  if (OPENS.has(type)) nesting.open++;
  if (CLOSES.has(type)) nesting.open--;
  return Math.max(nesting.open, nesting.onLine);
}

/** Parses one document. It ends at the first error: collecting all of them takes quadratic time. */
function parse(text: string, lines: LineCounter): YamlDocument['contents'] {
  const tokens: CST.Token[] = [];
  for (const token of new Parser(lines.addNewLine).parse(text)) {
    if (token.type === 'error') throw new Unsuitable(firstSentence(token.message), token.offset);
    tokens.push(token);
  }
  // Comparing each key with all others takes quadratic time, so `toJson` looks for repeated keys.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false, schema: 'core', merge: false });
  // Its type hides the handler. If a later version had another one, `errors` would have the first error.
  Object.defineProperty(composer, 'onError', { value: errorHandler() });
  const [document, second] = composer.compose(tokens, true, text.length);
  const [error] = document?.errors ?? [];
  if (error) throw new Unsuitable(firstSentence(error.message), error.pos[0]);
  if (second) throw new Unsuitable('a file has one document', second.range[0]);
  return document?.contents ?? null;
}

/**
 * Returns a handler that throws the first error. The composer would collect all: one for each character of a file. It
 * catches what is thrown below a node, and calls the handler again.
 */
function errorHandler() {
  let first: Unsuitable | undefined;
  return (source: ErrorSource, _code: string, message: string, isWarning?: boolean): void => {
    if (isWarning) return;
    first ??= new Unsuitable(firstSentence(message), startOfSource(source));
    throw first;
  };
}

/** The place of an error: an offset, a range, or a token. */
type ErrorSource = number | readonly number[] | { readonly offset: number };

function startOfSource(source: ErrorSource): number {
  if (typeof source === 'number') return source;
  return 'offset' in source ? source.offset : (source[0] ?? 0);
}

function firstSentence(message: string): string {
  if (message.startsWith('Maximum call stack')) return 'it is nested too deeply'; // The parser is recursive.
  return (message.split('\n')[0] ?? '').replace(/ at line .*$/, '').slice(0, 200);
}

function toJson(node: unknown, depth: number): Json {
  if (depth > MAX_DEPTH) throw new Unsuitable(TOO_DEEP, startOf(node));
  if (isSeq(node)) return node.items.map((item) => toJson(item, depth + 1));
  if (isMap(node)) return toObject(node.items, depth);
  if (!isScalar(node)) return null;
  const { value } = node;
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new Unsuitable('a value is neither text, number, true, false nor null', startOf(node));
}

function toObject(items: readonly Pair[], depth: number): JsonObject {
  const entries = new Map<string, Json>();
  for (const { key, value } of items) {
    const name = isScalar(key) ? key.value : undefined;
    if (typeof name !== 'string') throw new Unsuitable('a key is not a text', startOf(key));
    if (name === '__proto__') throw new Unsuitable('the name `__proto__` is not allowed', startOf(key));
    if (entries.has(name)) throw new Unsuitable('a key is written twice in the same mapping', startOf(key));
    entries.set(name, value === null ? null : toJson(value, depth + 1));
  }
  return Object.fromEntries(entries);
}

/** Returns a function that finds the offset of a value or its name. A value that is not written has that of its parent. */
function offsetsIn(root: unknown): (path: JsonPath, part: 'name' | 'value') => number {
  const known = new WeakMap<object, ReadonlyMap<unknown, Pair>>();
  function pairAt(map: { readonly items: readonly Pair[] }, name: string | number): Pair | undefined {
    const pairs = known.get(map) ?? new Map(map.items.map((pair) => [isScalar(pair.key) ? pair.key.value : '', pair]));
    known.set(map, pairs);
    return pairs.get(name);
  }

  /** Returns the value one step below a node, and its offset. */
  function below(node: unknown, step: string | number, part: 'name' | 'value') {
    if (isSeq(node) && typeof step === 'number' && step < node.items.length) {
      return { node: node.items[step], offset: startOf(node.items[step]) };
    }
    const pair = isMap(node) ? pairAt(node, step) : undefined;
    const isName = part === 'name' || pair?.value === null;
    return pair && { node: pair.value, offset: startOf(isName ? pair.key : pair.value) };
  }

  return (path, part) => {
    let found: { readonly node: unknown; readonly offset: number } = { node: root, offset: startOf(root) };
    for (const step of path) {
      const next = below(found.node, step, part);
      if (!next) break;
      found = next;
    }
    return found.offset;
  };
}

const startOf = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0;
