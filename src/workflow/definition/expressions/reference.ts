import type { Reference } from '../canonical.ts';

const START = /^\$([A-Za-z_][\w-]*)/;
const PART = /\.([\w-]+)|\[(\d{1,9})\]|\["([^"]+)"\]|\[(\*)\]/y;
const LOOKS_LIKE_ONE = /^\$[A-Za-z_][\w-]*[.[]\S*$/;

/** Parses a text that is one reference, such as `$search.result.hits[0].url`. Returns undefined for any other text. */
export function parseReference(text: string, form: 'rich' | 'classic'): Reference | undefined {
  const start = START.exec(text);
  if (!start) return undefined;
  const parts: (string | number)[] = [];
  PART.lastIndex = start[0].length;
  let end = PART.lastIndex;
  for (let found = PART.exec(text); found; found = PART.exec(text)) {
    const [, name, index, quoted, every] = found;
    parts.push(index === undefined ? (toPart(name, form) ?? quoted ?? every ?? '') : Number(index));
    end = PART.lastIndex;
  }
  if (end !== text.length) return undefined;
  return withoutAlias({ name: start[1] ?? '', parts, text }, form);
}

/** In the classic form a part of digits is an index. */
const toPart = (name: string | undefined, form: 'rich' | 'classic') =>
  name !== undefined && form === 'classic' && /^\d{1,9}$/.test(name) ? Number(name) : name;

/** `$steps.search` is `$search` in the rich form. */
function withoutAlias(reference: Reference, form: 'rich' | 'classic'): Reference {
  const [first, ...parts] = reference.parts;
  if (form === 'classic' || reference.name !== 'steps' || typeof first !== 'string' || first === '*') return reference;
  return { name: first, parts, text: reference.text };
}

/** Returns true for a text without blanks that begins like a reference and is none, such as `$a..b` or `$b[0`. */
export const isBrokenReference = (text: string): boolean => LOOKS_LIKE_ONE.test(text);
