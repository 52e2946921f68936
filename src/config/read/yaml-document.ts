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

/**
 * Parses YAML of the kind that JSON could express too. Anchors, aliases, tags, repeated keys and keys that are not text
 * are problems with a location, so that nothing expands.
 */
export function parseYamlDocument(file: string, text: string): Document | Problem {
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
    requirePlain(text);
    const contents = parse(text, lines);
    const root = contents === null ? {} : toJson(contents, 0);
    if (typeof root !== 'object' || root === null || Array.isArray(root)) {
      return broken('does not contain a mapping; write `policies:` and the list of rules below it', 0);
    }
    const locate = (path: JsonPath, part: 'name' | 'value' = 'value') => locationAt(offsetOf(contents, path, part));
    return { file, text, root: root as JsonObject, findings: [], locate };
  } catch (thrown) {
    if (thrown instanceof Unsuitable) return broken(`is not valid YAML: ${thrown.message}`, thrown.offset);
    return broken(`is not valid YAML: ${firstSentence(String((thrown as Error).message))}`, 0);
  }
}

const REFUSED: Partial<Record<CST.TokenType, string>> = {
  alias: 'aliases are not allowed',
  anchor: 'anchors are not allowed',
  tag: 'tags are not allowed',
};
const HAS_NO_TEXT: ReadonlySet<CST.TokenType | null> = new Set(['doc-mode', 'flow-error-end']);

/** Refuses anchors, aliases and tags before anything is composed: many of them take quadratic time. */
function requirePlain(text: string): void {
  let offset = 0;
  let isScalarNext = false;
  for (const lexeme of new Lexer().lex(text)) {
    const type: CST.TokenType | null = isScalarNext ? null : CST.tokenType(lexeme);
    isScalarNext = type === 'scalar';
    const reason = type === null ? undefined : REFUSED[type];
    if (reason !== undefined) throw new Unsuitable(reason, offset);
    if (!isScalarNext && !HAS_NO_TEXT.has(type)) offset += lexeme.length;
  }
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
  const [document, second] = composer.compose(tokens, true, text.length);
  const [error] = document?.errors ?? [];
  if (error) throw new Unsuitable(firstSentence(error.message), error.pos[0]);
  if (second) throw new Unsuitable('a file has one document', second.range[0]);
  return document?.contents ?? null;
}

function firstSentence(message: string): string {
  if (message.startsWith('Maximum call stack')) return 'it is nested too deeply'; // The parser is recursive.
  return (message.split('\n')[0] ?? '').replace(/ at line .*$/, '').slice(0, 200);
}

function toJson(node: unknown, depth: number): Json {
  if (depth > MAX_DEPTH) throw new Unsuitable(`it is nested deeper than ${MAX_DEPTH} levels`, startOf(node));
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

/** Returns the offset of a value or of its name. For a path that is not written: of its nearest written parent. */
function offsetOf(root: unknown, path: JsonPath, part: 'name' | 'value'): number {
  let node = root;
  let offset = startOf(root);
  for (const step of path) {
    if (isSeq(node) && typeof step === 'number' && step < node.items.length) {
      node = node.items[step];
      offset = startOf(node);
    } else if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (!pair) return offset;
      node = pair.value;
      offset = part === 'name' || node === null ? startOf(pair.key) : startOf(node);
    } else return offset;
  }
  return offset;
}

const startOf = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0;
