const COUNTED_REPEAT = /(\)?)\{(\d+)(?:,(\d*))?\}/g;
// The regular expression engine refuses larger repeats; nested ones are multiplied.
const MAX_REPEAT = 1_000;

/** Estimates an upper bound of the instructions that a pattern compiles to. Counted repeats are written out. */
export function patternSize(source: string): number {
  let single = source.length;
  let groups = 1;
  for (const [, closed, least = '', most = ''] of source.matchAll(COUNTED_REPEAT)) {
    const count = Math.min(MAX_REPEAT, Math.max(Number(least), Number(most), 1));
    if (closed) groups = Math.min(MAX_REPEAT, groups * count);
    else single += count;
  }
  return single * groups;
}

// A match costs this many steps besides those of its text.
const STEPS_PER_MATCH = 50;

/** Returns an upper bound of the steps of a match. Before and after each character it visits each instruction at most once. */
export const matchSteps = (text: string, instructions: number): number =>
  (text.length + 1) * instructions + STEPS_PER_MATCH;
