import { isOrAre } from '../../core/text/counted.ts';
import type { Problem, SourceLocation } from '../config.ts';
import type { Document } from '../document.ts';
import { parseDocument } from '../read/parse-document.ts';

const FENCE = /^[ \t]*(`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*$/;
const INLINE_CODE = /^\s*(`+|~{3,})(?:jsonc?\b|json5\b)?([\s\S]*?)\1\s*$/i;
const START = /^(?:\s|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/)*/;

/** A JSON text that was copied from documentation. */
export interface PastedDocument {
  readonly document: Document | Problem;
  readonly notes: readonly string[];
}

/** Tells whether a text is pasted JSON, perhaps in a Markdown code block, and not the name of a file. */
export function looksPasted(text: string): boolean {
  return /^\s*(?:[{["`]|~~~|\/\*|\/\/[^\r\n]*[\r\n])/.test(text) || /[\r\n][ \t]*(?:```|~~~|\{)/.test(text);
}

/**
 * Parses pasted JSON. Accepts a Markdown code block around it, and members without their outer braces. Text that is not
 * JSON becomes spaces, so that lines and columns are those of the pasted text.
 */
export function parsePasted(source: string, pasted: string): PastedDocument {
  const { text, notes } = withoutMarkdown(pasted.replace(/^\uFEFF/, ''));
  // Documentation often shows one member of `mcpServers`, without the braces around it.
  if (text[startOf(text)] !== '"') return { document: parseDocument(source, text), notes };
  const document = parseDocument(source, `{${text}\n}`);
  if (!('root' in document))
    return { document: { ...document, ...(document.at && { at: movedLeft(document.at) }) }, notes };
  return { document: { ...document, locate: (path, part) => movedLeft(document.locate(path, part)) }, notes };
}

const startOf = (text: string): number => START.exec(text)?.[0].length ?? 0;

/** Corrects a location for the brace that was put before the text. */
const movedLeft = (at: SourceLocation): SourceLocation =>
  at.line === 1 && at.column > 1 ? { ...at, column: at.column - 1 } : at;

function withoutMarkdown(text: string): { readonly text: string; readonly notes: readonly string[] } {
  if (/[{["]/.test(text[startOf(text)] ?? '')) return { text, notes: [] };
  const blocks = fencedBlocks(text).filter((block) => /[{["]/.test(block[startOf(block)] ?? ''));
  const [first, ...others] = blocks;
  if (first === undefined) return { text: withoutBackticks(text), notes: [] };
  const line = first.slice(0, startOf(first)).split(/\r\n|\n|\r/).length;
  const notes =
    others.length === 0
      ? []
      : [`The code block at line ${line} is read; ${others.length} more ${isOrAre(others.length)} not.`];
  return { text: first, notes };
}

/** Returns each code block, with spaces in place of all text around it. */
function fencedBlocks(text: string): readonly string[] {
  const rows = text.split(/(?<=\n)/);
  const blank = rows.map((row) => row.replace(/[^\r\n]/g, ' '));
  const blocks: string[] = [];
  let open: { readonly mark: string; readonly from: number } | undefined;
  for (const [index, row] of [...rows, ''].entries()) {
    const mark = FENCE.exec(row.trimEnd())?.[1];
    const isEnd = open !== undefined && (index === rows.length || mark?.startsWith(open.mark) === true);
    if (open !== undefined && isEnd) {
      blocks.push([...blank.slice(0, open.from), ...rows.slice(open.from, index)].join(''));
      open = undefined;
    } else if (open === undefined && mark !== undefined) open = { mark, from: index + 1 };
  }
  return blocks;
}

function withoutBackticks(text: string): string {
  const code = INLINE_CODE.exec(text)?.[2];
  if (code === undefined) return text;
  const from = text.indexOf(code, text.search(/[`~]/));
  return `${text.slice(0, from).replace(/[^\r\n]/g, ' ')}${code}`;
}
