import type { Compilation } from '../compilation.ts';

/** A place in CEL text that cannot be read. */
export interface CelProblem {
  readonly message: string;
  readonly fix: string;
  readonly offset: number;
}

const NAME = /\$([A-Za-z_][\w-]*)/y;
/** A path up to a part of digits. */
const INDEX = /((?:\.[A-Za-z_]\w*|\[\d+\])*)\.(\d+)\b/y;
const STEPS_ALIAS = /\.([A-Za-z_]\w*)|\["([^"]+)"\]/y;

/**
 * Rewrites `$name` to `scope["name"]` outside of string literals and comments. Of `$a-1`, `a-1` is the name if the
 * workflow has it; else the longest known name before a hyphen is, and the rest is a subtraction. In the classic form a part
 * of digits is an index: `$a.0` is `$a[0]`.
 */
export function rewriteCel(
  text: string,
  { names, form }: Pick<Compilation, 'names' | 'form'>,
): { readonly cel: string } | CelProblem {
  let cel = '';
  for (let at = 0; at < text.length; ) {
    const end = endOfLiteral(text, at);
    if (end === -1) return { message: 'a string literal has no end', fix: 'Close the quotes.', offset: at };
    if (end !== undefined) {
      cel += text.slice(at, end);
      at = end;
      continue;
    }
    const name = nameAt(text, at, names);
    if (!name) {
      if (text[at] === '$')
        return { message: 'a `$` has no name', fix: 'Write a name after it, such as `$input`.', offset: at };
      cel += text[at++];
      continue;
    }
    cel += `scope[${JSON.stringify(name.name)}]`;
    at = name.end;
    for (INDEX.lastIndex = at; form === 'classic'; at = INDEX.lastIndex) {
      const indexed = INDEX.exec(text);
      if (!indexed) break;
      cel += `${indexed[1]}[${indexed[2]}]`;
    }
  }
  return { cel: cel.trim() };
}

/** Returns the offset of the `}}` that ends an expression. Skips string literals, comments and braces. */
export function endOfExpression(text: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length; ) {
    const end = endOfLiteral(text, at);
    if (end === -1) return undefined;
    if (end !== undefined) {
      at = end;
      continue;
    }
    if (depth === 0 && text.startsWith('}}', at)) return at;
    if (text[at] === '{') depth++;
    if (text[at] === '}') depth--;
    if (depth < 0) return undefined;
    at++;
  }
  return undefined;
}

function nameAt(text: string, at: number, names: ReadonlySet<string>) {
  NAME.lastIndex = at;
  const written = NAME.exec(text)?.[1];
  if (written === undefined) return undefined;
  const name = knownPrefix(written, names) ?? written;
  const end = at + 1 + name.length;
  if (name !== 'steps') return { name, end };
  STEPS_ALIAS.lastIndex = end;
  const alias = STEPS_ALIAS.exec(text);
  return alias ? { name: alias[1] ?? alias[2] ?? '', end: STEPS_ALIAS.lastIndex } : { name, end };
}

/** Returns the longest known name that the written one begins with, up to a hyphen or the end. */
function knownPrefix(written: string, names: ReadonlySet<string>): string | undefined {
  for (let end = written.length; end > 0; end = written.lastIndexOf('-', end - 1)) {
    if (names.has(written.slice(0, end))) return written.slice(0, end);
  }
  return undefined;
}

/** Returns the end of the string literal or comment that begins here; -1 if it has no end; undefined if none begins. */
function endOfLiteral(text: string, at: number): number | undefined {
  if (text.startsWith('//', at)) {
    const end = text.indexOf('\n', at);
    return end < 0 ? text.length : end;
  }
  const quote = text[at];
  if (quote !== '"' && quote !== "'") return undefined;
  const close = text.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote;
  for (let next = at + close.length; next < text.length; next++) {
    if (text[next] === '\\') next++;
    else if (text.startsWith(close, next)) return next + close.length;
    else if (close.length === 1 && text[next] === '\n') return -1;
  }
  return -1;
}
