import {
  type Alias,
  Composer,
  CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  Parser,
  type Document as YamlDocument,
} from 'yaml';
import {
  leafTree,
  listTree,
  MAX_SOURCE_VALUES,
  objectTree,
  requireDepth,
  requireExact,
  requireNewName,
  type SourceMember,
  type SourceTree,
  Unusable,
} from './source-tree.ts';

const MAX_ALIASES = 100;
/** The most tokens of a definition. Each takes about 4 µs. */
const MAX_TOKENS = 100_000;
const QUOTE_FIX =
  'Put the value in quotes: references with `[` and expressions with `{` are not plain YAML inside of `{…}` and `[…]`.';
const OPENS: ReadonlySet<CST.TokenType | null> = new Set(['flow-map-start', 'flow-seq-start']);
const CLOSES: ReadonlySet<CST.TokenType | null> = new Set(['flow-map-end', 'flow-seq-end']);
const NESTS_ON_ITS_LINE: ReadonlySet<CST.TokenType | null> = new Set(['seq-item-ind', 'explicit-key-ind']);
const HAS_NO_TEXT: ReadonlySet<CST.TokenType | null> = new Set(['doc-mode', 'flow-error-end']);

/** Parses one document of YAML 1.2 whose values JSON could express too. Throws `Unusable`. */
export function readYaml(text: string): SourceTree {
  const document = compose(text, readTokens(text));
  const reader: YamlReader = { document, targets: new Map(), left: MAX_SOURCE_VALUES };
  return toTree(document.contents, 0, reader);
}

/**
 * Reads the tokens. Refuses tags, too many aliases or anchors and deep nesting before anything is composed: the composer
 * only warns of tags, and takes seconds for 100 000 levels. Ends at the first error: collecting all takes quadratic time.
 */
function readTokens(text: string): readonly CST.Token[] {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let offset = 0;
  let isScalarNext = false;
  const seen: SeenTokens = { all: 0, alias: 0, anchor: 0, flow: 0, onLine: 0 };

  function add(parsed: Iterable<CST.Token>): void {
    for (const token of parsed) {
      if (token.type === 'error') throw syntaxError(text, token.offset, token.message);
      tokens.push(token);
    }
  }

  for (const lexeme of new Lexer().lex(text)) {
    const type: CST.TokenType | null = isScalarNext ? null : CST.tokenType(lexeme);
    isScalarNext = type === 'scalar';
    checkToken(type, offset, seen);
    if (!isScalarNext && !HAS_NO_TEXT.has(type)) offset += lexeme.length;
    add(parser.next(lexeme));
  }
  add(parser.end());
  return tokens;
}

interface SeenTokens {
  all: number;
  alias: number;
  anchor: number;
  /** Open braces and brackets. */
  flow: number;
  /** Lists that begin on this line: `- - - a`. */
  onLine: number;
}

function checkToken(type: CST.TokenType | null, offset: number, seen: SeenTokens): void {
  if (type === 'tag') {
    const fix = 'Remove the tag; put a text that looks like a number in quotes.';
    throw new Unusable('YAML_TAG', offset, { message: 'YAML tags are not allowed.', fix });
  }
  if ((type === 'alias' || type === 'anchor') && ++seen[type] > MAX_ALIASES) {
    const message = `The definition has more than ${MAX_ALIASES} ${type === 'alias' ? 'aliases' : 'anchors'}.`;
    throw new Unusable('YAML_ALIASES', offset, { message, fix: 'Write the values out, or use a sub-workflow.' });
  }
  if (++seen.all > MAX_TOKENS) {
    const message = `The definition has more than ${MAX_TOKENS} tokens of YAML.`;
    throw new Unusable('SOURCE_TOO_LARGE', offset, { message, fix: 'Split it into sub-workflows.' });
  }
  if (type === 'newline') seen.onLine = 0;
  if (NESTS_ON_ITS_LINE.has(type)) seen.onLine++;
  if (OPENS.has(type)) seen.flow++;
  if (CLOSES.has(type)) seen.flow--;
  requireDepth(Math.max(seen.flow, seen.onLine), offset);
}

/** Composes one document of the tokens. */
function compose(text: string, tokens: readonly CST.Token[]): YamlDocument {
  // `toTree` looks for repeated keys: the composer compares each key with all others.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false, schema: 'core', merge: false });
  // Its type hides the handler. If a later version had another one, `errors` would have the first error.
  Object.defineProperty(composer, 'onError', { value: errorHandler(text) });
  const [document, second] = composer.compose(tokens, true, text.length);
  const [error] = document?.errors ?? [];
  if (error) throw syntaxError(text, error.pos[0], error.message);
  if (second) {
    const message = 'A definition is one YAML document.';
    throw new Unusable('YAML_DOCUMENTS', second.range[0], {
      message,
      fix: 'Write each workflow to a file of its own.',
    });
  }
  return document as YamlDocument;
}

/** The place of an error: an offset, a range, or a token. */
type ErrorSource = number | readonly number[] | { readonly offset: number };

/**
 * Returns a handler that throws the first error. The composer would collect all: one for each character of a text. It
 * catches what is thrown below a node, and calls the handler again.
 */
function errorHandler(text: string) {
  let first: Unusable | undefined;
  return (source: ErrorSource, _code: string, message: string, isWarning?: boolean): void => {
    if (isWarning) return;
    const start = typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0];
    first ??= syntaxError(text, start ?? 0, message);
    throw first;
  };
}

/** Describes a syntax error. `{a: ${{ x }} }` and `{a: $b[0]}` are not YAML: the fix says to quote. */
function syntaxError(text: string, offset: number, message: string): Unusable {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset + 2);
  const isUnquoted = /[{[,:]\s*\$(\{|[A-Za-z_][\w.-]*\[)/.test(line);
  const reason = (message.split('\n')[0] ?? '').replace(/ at line .*$/, '').slice(0, 200);
  const fix = isUnquoted ? QUOTE_FIX : 'Correct the YAML there.';
  const at = isUnquoted ? offset - (line.length - 2) + line.lastIndexOf('$') : offset;
  return new Unusable('SYNTAX_INVALID', at, { message: `This is not valid YAML: ${reason}.`, fix });
}

interface YamlReader {
  readonly document: YamlDocument;
  /** The targets of aliases. Looking for one takes a walk through the document. */
  readonly targets: Map<Alias, unknown>;
  left: number;
}

function toTree(node: unknown, depth: number, reader: YamlReader): SourceTree {
  const offset = startOf(node);
  requireDepth(depth, offset);
  if (--reader.left < 0) {
    const message = `The definition has more than ${MAX_SOURCE_VALUES} values when its aliases are expanded.`;
    throw new Unusable('YAML_ALIASES', offset, { message, fix: 'Write the values out, or use a sub-workflow.' });
  }
  if (isAlias(node)) return { ...toTree(resolveAlias(node, reader), depth + 1, reader), offset };
  if (isSeq(node)) {
    return listTree(
      node.items.map((item) => toTree(item, depth + 1, reader)),
      offset,
    );
  }
  if (isMap(node)) return toObjectTree(node.items, depth, { reader, offset });
  if (!isScalar(node)) return leafTree(null, offset);
  return leafTree(toScalar(node.value, offset), offset);
}

function resolveAlias(node: Alias, { document, targets }: YamlReader): unknown {
  const target = targets.get(node) ?? node.resolve(document);
  if (!target) {
    const message = 'The alias has no anchor before it.';
    const fix = 'Define the anchor, or put the text in quotes.';
    throw new Unusable('SYNTAX_INVALID', startOf(node), { message, fix });
  }
  targets.set(node, target);
  return target;
}

function toScalar(value: unknown, offset: number) {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return requireExact(value, offset);
  const message = 'The value is neither text, number, true, false nor null.';
  throw new Unusable('VALUE_NOT_JSON', offset, { message, fix: 'Put the value in quotes.' });
}

function toObjectTree(
  items: readonly Pair[],
  depth: number,
  { reader, offset }: { readonly reader: YamlReader; readonly offset: number },
): SourceTree {
  const members = new Map<string, SourceMember>();
  for (const { key, value } of items) {
    const nameOffset = startOf(key);
    const name = isScalar(key) ? key.value : undefined;
    if (typeof name !== 'string') {
      const message = 'A key is not a text.';
      const fix = 'Put the key in quotes; a value that begins with `{` or `${{` needs quotes too.';
      throw new Unusable('KEY_INVALID', nameOffset, { message, fix });
    }
    if (name === '<<') {
      const message = 'Merge keys (`<<`) are not part of YAML 1.2.';
      throw new Unusable('YAML_MERGE_KEY', nameOffset, { message, fix: 'Write the keys out, or use `defaults`.' });
    }
    requireNewName(name, nameOffset, members);
    members.set(name, {
      nameOffset,
      tree: value === null ? leafTree(null, nameOffset) : toTree(value, depth + 1, reader),
    });
  }
  return objectTree(members, offset);
}

const startOf = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0;
