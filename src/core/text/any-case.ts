/**
 * Rewrites a pattern so that its lower-case letters match both cases. Patterns use it in place of the modifier `(?i:…)`.
 * V8 ignores that modifier once a process has compiled so many patterns that it stops optimizing them.
 */
export const anyCase = (pattern: string): string =>
  pattern.replace(/(?<!\\)[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`);
