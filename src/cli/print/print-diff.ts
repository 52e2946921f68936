import colors from 'picocolors';
import { escapeControlCharacters, oneLine } from '../../core/text/visible-text.ts';

interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

const CONTEXT = 3;
// Larger comparisons show all old lines as removed and all new lines as added.
const MAX_CELLS = 4_000_000;

/** Prints the unified diff of a file to stdout; nothing if both texts are equal. */
export function printDiff(file: string, before: string, after: string): void {
  const text = diffText(file, before, after);
  if (text !== '') process.stdout.write(text.split('\n').map(coloured).join('\n'));
}

/** Returns the unified diff of two texts; empty if they are equal. */
export function diffText(file: string, before: string, after: string): string {
  if (before === after) return '';
  const lines = compare(toLines(before), toLines(after));
  const from = before === '' ? '/dev/null' : file;
  return [`--- ${oneLine(from)}`, `+++ ${oneLine(file)}`, ...hunksOf(lines).map(escapeControlCharacters), ''].join(
    '\n',
  );
}

function toLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') return lines.slice(0, -1);
  return [...lines.slice(0, -1), `${lines.at(-1)}\n\\ No newline at end of file`];
}

function compare(before: readonly string[], after: readonly string[]): readonly Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const same = (lines: readonly string[]): Line[] => lines.map((text) => ({ sign: ' ', text }));
  return [
    ...same(before.slice(0, start)),
    ...changed(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ];
}

/** Compares lines by their longest common subsequence. */
function changed(before: readonly string[], after: readonly string[]): readonly Line[] {
  const removed = before.map((text): Line => ({ sign: '-', text }));
  const added = after.map((text): Line => ({ sign: '+', text }));
  const width = after.length + 1;
  if ((before.length + 1) * width > MAX_CELLS) return [...removed, ...added];
  const lengths = commonLengths(before, after);
  const common = (b: number, a: number) => lengths[b * width + a] ?? 0;
  const lines: Line[] = [];
  let b = 0;
  let a = 0;
  while (b < before.length && a < after.length) {
    if (before[b] === after[a]) {
      lines.push({ sign: ' ', text: before[b++] ?? '' });
      a++;
    } else if (common(b + 1, a) >= common(b, a + 1)) lines.push(...removed.slice(b, ++b));
    else lines.push(...added.slice(a, ++a));
  }
  return [...lines, ...removed.slice(b), ...added.slice(a)];
}

function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let b = before.length - 1; b >= 0; b--) {
    for (let a = after.length - 1; a >= 0; a--) {
      const right = lengths[b * width + a + 1] ?? 0;
      const below = lengths[(b + 1) * width + a] ?? 0;
      const diagonal = lengths[(b + 1) * width + a + 1] ?? 0;
      lengths[b * width + a] = before[b] === after[a] ? diagonal + 1 : Math.max(right, below);
    }
  }
  return lengths;
}

function hunksOf(lines: readonly Line[]): readonly string[] {
  const near = (at: number) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ sign }) => sign !== ' ');
  const out: string[] = [];
  let line = { before: 1, after: 1 };
  for (let at = 0; at < lines.length; ) {
    let end = at;
    while (end < lines.length && near(end)) end++;
    const hunk = lines.slice(at, Math.max(end, at + 1));
    const before = hunk.filter(({ sign }) => sign !== '+').length;
    const after = hunk.filter(({ sign }) => sign !== '-').length;
    if (end > at) {
      out.push(`@@ -${range(line.before, before)} +${range(line.after, after)} @@`);
      out.push(...hunk.map(({ sign, text }) => `${sign}${text}`));
    }
    line = { before: line.before + before, after: line.after + after };
    at += hunk.length;
  }
  return out;
}

// In a unified diff an empty range starts at the line before it.
function range(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`;
}

function coloured(line: string): string {
  if (/^(---|\+\+\+) /.test(line)) return colors.bold(line);
  if (line.startsWith('+')) return colors.green(line);
  if (line.startsWith('-')) return colors.red(line);
  return line.startsWith('@@') ? colors.cyan(line) : line;
}
