import { createHash } from 'node:crypto';

const MAX_CHARS = 64;
const SUFFIX_CHARS = 8;

/** The name a tool has for everybody outside: `mcp__server__tool`, with a suffix where it had to be changed. */
export function publicName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`;
  return isLegal(plain) ? plain : distinctName(server, tool);
}

/** The same with a suffix in any case. `more` tells apart what has server and tool in common. */
export function distinctName(server: string, tool: string, ...more: readonly string[]): string {
  // Cut before and after: a character that becomes a dash has two units at most.
  const safe = `mcp__${server}__${tool}`.slice(0, 2 * MAX_CHARS).replace(/[^A-Za-z0-9_-]/gu, '-');
  return `${safe.slice(0, MAX_CHARS - SUFFIX_CHARS - 1)}_${fingerprint([server, tool, ...more])}`;
}

/** What every client accepts: those that allow 128 characters, too. */
export const isLegal = (name: string): boolean => name.length <= MAX_CHARS && /^[A-Za-z0-9_-]+$/.test(name);

// As JSON, where every text has a spelling of its own: half a surrogate pair, too, and whatever would separate parts.
const fingerprint = (parts: readonly string[]) =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, SUFFIX_CHARS);

/**
 * One name for each item, spelled at the lowest level at which nobody else wants
 * it. Those that meet all go on to the next level, so none depends on who came
 * first; and one that meets somebody further on gives way to it, so nobody can
 * take a name over by looking like it. Looks again only at those that met.
 */
export function nameAll<T>(items: readonly T[], spell: (item: T, level: number) => string): ReadonlyMap<string, T> {
  const holders = new Map<string, T>();
  const levels = new Map<T, number>();
  const levelOf = (item: T) => (levels.size === 0 ? 0 : (levels.get(item) ?? 0));

  function claim(claimants: readonly T[]): ReadonlyMap<string, T[]> {
    const contested = new Map<string, T[]>();
    for (const item of claimants) {
      const name = spell(item, levelOf(item));
      const holder = holders.get(name);
      if (holder === undefined) holders.set(name, item);
      else if (contested.has(name)) contested.get(name)?.push(item);
      else contested.set(name, [holder, item]);
    }
    return contested;
  }

  for (let waiting = items; waiting.length > 0; ) {
    const next: T[] = [];
    for (const [name, rivals] of claim(waiting)) {
      holders.delete(name);
      const lowest = rivals.reduce((level, item) => Math.min(level, levelOf(item)), Number.POSITIVE_INFINITY);
      for (const item of rivals) {
        if (levelOf(item) === lowest) levels.set(item, lowest + 1);
        next.push(item);
      }
    }
    waiting = next;
  }
  return holders;
}
