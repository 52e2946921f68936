type Path = readonly (string | number)[];

/** Where something is written in a JSON text: its value, and its name if it has one. */
interface Written {
  readonly value: number;
  readonly name?: number;
}

/**
 * Finds where parts of a text are that is known to be strict JSON without repeated names. Only what is asked
 * for is looked at, and each object once: most runs ask for little, and a tree of it all is slow to build.
 */
export function fastJsonOffsets(text: string): (path: Path, part: 'name' | 'value') => number {
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

// Letter by letter would be slow in code that runs once.
function find(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}
