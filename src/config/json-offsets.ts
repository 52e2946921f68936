import type { Path } from './parse-document.ts';

/** Where something is written in a JSON text: its value, and its name if it has one. */
interface Written {
  readonly value: number;
  readonly name?: number;
}

/**
 * Finds where parts of a text are that is known to be strict JSON without repeated names. Only what is asked
 * for is looked at, and each object once: most runs ask for little, and a tree of it all is slow to build.
 */
export function jsonOffsets(text: string): (path: Path, part: 'name' | 'value') => number {
  const inside = new Map<number, ReadonlyMap<string | number, Written>>();

  function membersAt(at: number): ReadonlyMap<string | number, Written> {
    const known = inside.get(at) ?? membersOf(text, at);
    inside.set(at, known);
    return known;
  }

  const start = skipSpace(text, 0);
  return (path, part) => {
    let found: Written = { value: start };
    for (const step of path) {
      const next = membersAt(found.value).get(step);
      if (next === undefined) break;
      found = next;
    }
    const reached = path.length > 0 && found.name !== undefined && part === 'name';
    return reached ? (found.name ?? found.value) : found.value;
  };
}

/** Of an object by name, of an array by index; a text or a number has none. */
function membersOf(text: string, at: number): ReadonlyMap<string | number, Written> {
  const members = new Map<string | number, Written>();
  const object = text[at] === '{';
  if (!object && text[at] !== '[') return members;
  let here = skipSpace(text, at + 1);
  while (text[here] !== '}' && text[here] !== ']') {
    const name = here;
    if (object) here = skipSpace(text, skipSpace(text, endOfText(text, here)) + 1);
    const key = object ? String(JSON.parse(text.slice(name, endOfText(text, name)))) : members.size;
    members.set(key, object ? { name, value: here } : { value: here });
    here = skipSpace(text, endOfValue(text, here));
    if (text[here] === ',') here = skipSpace(text, here + 1);
  }
  return members;
}

function skipSpace(text: string, at: number): number {
  let here = at;
  while (text.charCodeAt(here) <= 0x20) here++;
  return here;
}

/** Behind the closing quote. */
function endOfText(text: string, at: number): number {
  let end = text.indexOf('"', at + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before--;
  return (at - before) % 2 === 1;
}

function endOfValue(text: string, at: number): number {
  let depth = 0;
  for (let here = at; here < text.length; ) {
    const letter = text[here];
    if (letter === '"') here = endOfText(text, here);
    else if (letter === '{' || letter === '[') here = deeper(here);
    else if (letter === '}' || letter === ']') {
      if (depth === 0) return here;
      here++;
      depth--;
    } else if (letter === ',' && depth === 0) return here;
    else here++;
  }
  return text.length;

  function deeper(here: number): number {
    depth++;
    return here + 1;
  }
}
