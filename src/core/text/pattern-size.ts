const COUNTED_REPEAT = /(\)?)\{(\d+)(?:,(\d*))?\}/g;
// The regular expression engine refuses larger repeats; nested ones are multiplied.
const MAX_REPEAT = 1_000;
const UNICODE_CLASS = /\\[pP]/g;
const IGNORES_CASE = /\(\?[a-zA-Z]*i/;
const RANGE_BEYOND_ASCII = /-(?:\\[xu0-7]|[^\0-\x7f])/g;
// Compiling a class of Unicode takes as long as this many instructions. Ignoring case, the cases of each letter are looked up.
const CLASS_INSTRUCTIONS = 300;
const FOLDED_INSTRUCTIONS = 600;

/** Estimates an upper bound of the instructions that a pattern compiles to. Counted repeats are written out. */
export function patternSize(source: string): number {
  let single = source.length;
  let groups = 1;
  for (const [, closed, least = '', most = ''] of source.matchAll(COUNTED_REPEAT)) {
    const count = Math.min(MAX_REPEAT, Math.max(Number(least), Number(most), 1));
    if (closed) groups = Math.min(MAX_REPEAT, groups * count);
    else single += count;
  }
  // A repeated class is parsed once.
  return single * groups + classSize(source);
}

function classSize(source: string): number {
  const classes = source.match(UNICODE_CLASS)?.length ?? 0;
  if (!IGNORES_CASE.test(source)) return classes * CLASS_INSTRUCTIONS;
  return (classes + (source.match(RANGE_BEYOND_ASCII)?.length ?? 0)) * FOLDED_INSTRUCTIONS;
}

// A match costs this many steps besides those of its text.
const STEPS_PER_MATCH = 50;
// The queues of a large program take as long as this many characters of text.
const LARGE_PROGRAM = 1_000;
const CHARACTERS_PER_LARGE_MATCH = 8;

/** Returns an upper bound of the steps of a match. Before and after each character it visits each instruction at most once. */
export const matchSteps = (text: string, instructions: number): number =>
  (text.length + (instructions > LARGE_PROGRAM ? CHARACTERS_PER_LARGE_MATCH : 1)) * instructions + STEPS_PER_MATCH;
