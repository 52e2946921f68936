const LONGEST = 64;
/** The names that are compared letter by letter. A database may have a hundred thousand tables. */
const MOST_RATED = 500;
// A client chooses the word, and comparing it with a name of 64 letters takes 0.1 ms.
const MOST_COMPARED = 100;

/** Returns the candidate closest to `word`; undefined if more than a third of its letters differ. Of many, compares the likely ones. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length === 0 || word.length > LONGEST) return undefined;
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let limit = allowedEdits(word.length) + 1;
  const possible = [...candidates].filter(({ length }) => Math.abs(length - word.length) < limit);
  const [likely] = splitByEnds(wanted, possible, MOST_COMPARED);
  for (const candidate of likely) {
    if (Math.abs(candidate.length - word.length) >= limit) continue;
    const edits = editsBetween(wanted, candidate.toLowerCase(), limit);
    if (edits >= limit) continue;
    best = candidate;
    limit = edits;
  }
  return best;
}

/** Sorts names by their likeness to `word`. A name that contains it comes before others. Of many names, the likely ones are sorted. */
export function nearestFirst(word: string, names: Iterable<string>): readonly string[] {
  const wanted = word.toLowerCase().slice(0, LONGEST);
  const [likely, others] = splitByEnds(wanted, [...names], MOST_RATED);
  const rated = likely.map((name) => {
    const other = name.toLowerCase();
    const edits = editsBetween(wanted, other.slice(0, LONGEST));
    return { name, distance: wanted !== '' && other.includes(wanted) ? Math.min(edits, 1) : edits };
  });
  const sorted = rated.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1)).map(({ name }) => name);
  return others.length === 0 ? sorted : [...sorted, ...others];
}

/** Separates the names that contain a word, or begin and end most like it, from the others. */
function splitByEnds(
  wanted: string,
  names: readonly string[],
  most: number,
): readonly [likely: readonly string[], others: readonly string[]] {
  if (names.length <= most) return [names, []];
  const scored = names.map((name) => ({ name, score: sharedEnds(wanted, name.slice(0, LONGEST).toLowerCase()) }));
  const sorted = scored.sort((a, b) => b.score - a.score).map(({ name }) => name);
  return [sorted.slice(0, most), sorted.slice(most)];
}

function sharedEnds(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  if (a !== '' && b.includes(a)) return a.length;
  let start = 0;
  while (start < most && a[start] === b[start]) start++;
  let end = 0;
  while (end < most - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return start + end - Math.abs(a.length - b.length);
}

// A third of the letters may differ, and at least one.
function allowedEdits(length: number): number {
  return Math.max(1, Math.floor(length / 3));
}

/** Counts the edits; two swapped neighbours are one. Stops at `limit`, since a file can make it compare millions of names. */
function editsBetween(a: string, b: string, limit = Number.POSITIVE_INFINITY): number {
  const columns = b.length;
  let beforeLast: number[] = [];
  let last = Array.from({ length: columns + 1 }, (_, column) => column);
  let leastOfLast = 0;
  for (let row = 1; row <= a.length; row++) {
    const letter = a.charCodeAt(row - 1);
    const current = [row];
    let left = row;
    let least = row;
    for (let column = 1; column <= columns; column++) {
      const other = b.charCodeAt(column - 1);
      let edits = Math.min(at(last, column - 1) + (letter === other ? 0 : 1), at(last, column) + 1, left + 1);
      // Before the first letter there is NaN, which equals nothing.
      const isSwapped = a.charCodeAt(row - 2) === other && b.charCodeAt(column - 2) === letter;
      if (isSwapped) edits = Math.min(edits, at(beforeLast, column - 2) + 1);
      current.push(edits);
      left = edits;
      least = Math.min(least, edits);
    }
    // A swap in the next row counts from the last row.
    if (least >= limit && leastOfLast >= limit) return limit;
    leastOfLast = least;
    beforeLast = last;
    last = current;
  }
  return at(last, columns);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
