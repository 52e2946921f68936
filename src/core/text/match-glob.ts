/**
 * Returns true if a text fits a pattern, where `*` is any run of characters. Goes back to the last `*` only, so the
 * time is bounded by length times length.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let index = 0; index < text.length; ) {
    if (pattern[at] === '*') {
      star = at++;
      resume = index;
    } else if (pattern[at] === text[index]) {
      at++;
      index++;
    } else if (star >= 0) {
      at = star + 1;
      index = ++resume;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}

/** Returns true if a text that begins with `start` may fit a pattern: the two agree as far as both are known. */
export function mayFit(pattern: string, start: string): boolean {
  const star = pattern.indexOf('*');
  const known = star < 0 ? pattern : pattern.slice(0, star);
  return known.startsWith(start) || (star >= 0 && start.startsWith(known));
}
