import type { JsonPath } from '../document.ts';

/** The offsets of a member in a JSON text: of its value, and of its name if it has one. */
interface MemberOffsets {
  readonly value: number;
  readonly name?: number;
}

/**
 * Returns a function that finds the offset of a path in a strict JSON text without repeated names. The fast path beside
 * jsonc-parser's tree: it scans only the objects on the path, each once, and most commands look up few paths.
 */
export function fastJsonOffsets(text: string): (path: JsonPath, part: 'name' | 'value') => number {
  const inside = new Map<number, ReadonlyMap<string | number, MemberOffsets>>();

  function membersAt(at: number): ReadonlyMap<string | number, MemberOffsets> {
    const known = inside.get(at) ?? membersOf(text, at);
    inside.set(at, known);
    return known;
  }

  const start = skipSpace(text, 0);
  return (path, part) => {
    let found: MemberOffsets = { value: start };
    for (const step of path) {
      const next = membersAt(found.value).get(step);
      if (next === undefined) break;
      found = next;
    }
    const reached = path.length > 0 && found.name !== undefined && part === 'name';
    return reached ? (found.name ?? found.value) : found.value;
  };
}

/** Returns the members of an object by name, of an array by index. Other values have none. */
function membersOf(text: string, at: number): ReadonlyMap<string | number, MemberOffsets> {
  const members = new Map<string | number, MemberOffsets>();
  const object = text[at] === '{';
  if (!object && text[at] !== '[') return members;
  let here = skipSpace(text, at + 1);
  while (text[here] !== '}' && text[here] !== ']') {
    const name = here;
    const nameEnd = object ? endOfText(text, here) : here;
    if (object) here = skipSpace(text, skipSpace(text, nameEnd) + 1);
    members.set(
      object ? unquoted(text.slice(name, nameEnd)) : members.size,
      object ? { name, value: here } : { value: here },
    );
    here = skipSpace(text, endOfValue(text, here));
    if (text[here] === ',') here = skipSpace(text, here + 1);
  }
  return members;
}

function unquoted(name: string): string {
  return name.includes('\\') ? String(JSON.parse(name)) : name.slice(1, -1);
}

function skipSpace(text: string, at: number): number {
  let here = at;
  while (text.charCodeAt(here) <= 0x20) here++;
  return here;
}

/** Returns the offset after the closing quote. */
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
  if (text[at] === '"') return endOfText(text, at);
  if (text[at] !== '{' && text[at] !== '[') return find(/[,}\]\s]/g, text, at);
  let depth = 0;
  let here = at;
  do {
    here = find(/["{}[\]]/g, text, here);
    const letter = text[here];
    here = letter === '"' ? endOfText(text, here) : here + 1;
    if (letter !== '"') depth += letter === '{' || letter === '[' ? 1 : -1;
  } while (depth > 0);
  return here;
}

// A regular expression, because a loop over characters is slow before the code is compiled.
function find(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}
