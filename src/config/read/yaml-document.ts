import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument as parseYaml } from 'yaml';
import type { Json, JsonObject } from '../../core/call.ts';
import type { Problem, SourceLocation } from '../config.ts';
import type { Document, JsonPath } from '../document.ts';

const MAX_CHARS = 2_000_000;
const MAX_DEPTH = 64;

/** A value that YAML has and JSON has not, or that is not allowed in a configuration. */
class Unsuitable extends Error {
  readonly offset: number;

  constructor(message: string, node: { readonly range?: readonly number[] | null | undefined }) {
    super(message);
    this.offset = node.range?.[0] ?? 0;
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
    // Comparing each key with all others takes quadratic time, so `toJson` looks for repeated keys.
    const parsed = parseYaml(text, { lineCounter: lines, uniqueKeys: false, schema: 'core', merge: false });
    const [error] = parsed.errors;
    if (error) return broken(`is not valid YAML: ${firstSentence(error.message)}`, error.pos[0]);
    const root = parsed.contents === null ? {} : toJson(parsed.contents, 0);
    if (typeof root !== 'object' || root === null || Array.isArray(root)) {
      return broken('does not contain a mapping; write `policies:` and the list of rules below it', 0);
    }
    const locate = (path: JsonPath, part: 'name' | 'value' = 'value') =>
      locationAt(offsetOf(parsed.contents, path, part));
    return { file, text, root: root as JsonObject, findings: [], locate };
  } catch (thrown) {
    if (thrown instanceof Unsuitable) return broken(`is not valid: ${thrown.message}`, thrown.offset);
    return broken('is not valid YAML: it is nested too deeply', 0); // The parser is recursive.
  }
}

const firstSentence = (message: string) => (message.split('\n')[0] ?? '').replace(/ at line .*$/, '').slice(0, 200);

function toJson(node: unknown, depth: number): Json {
  if (depth > MAX_DEPTH) throw new Unsuitable(`it is nested deeper than ${MAX_DEPTH} levels`, node as Node);
  if (isAlias(node)) throw new Unsuitable('aliases are not allowed', node);
  if (isSeq(node) || isMap(node) || isScalar(node)) requirePlain(node);
  if (isSeq(node)) return node.items.map((item) => toJson(item, depth + 1));
  if (isMap(node)) return toObject(node.items, depth);
  if (!isScalar(node)) return null;
  const { value } = node;
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new Unsuitable('a value is neither text, number, true, false nor null', node);
}

function requirePlain(node: {
  readonly anchor?: string;
  readonly tag?: string;
  range?: readonly number[] | null;
}): void {
  if (node.anchor !== undefined) throw new Unsuitable('anchors are not allowed', node);
  if (node.tag !== undefined) throw new Unsuitable('tags are not allowed', node);
}

function toObject(items: readonly Pair[], depth: number): JsonObject {
  const entries = new Map<string, Json>();
  for (const { key, value } of items) {
    const name = isScalar(key) ? key.value : undefined;
    if (typeof name !== 'string') throw new Unsuitable('a key is not a text', key as Node);
    if (name === '__proto__') throw new Unsuitable('the name `__proto__` is not allowed', key as Node);
    if (entries.has(name)) throw new Unsuitable('a key is written twice in the same mapping', key as Node);
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
