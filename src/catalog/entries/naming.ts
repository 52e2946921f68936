import { createHash } from 'node:crypto';

const MAX_CHARS = 64;
const SUFFIX_CHARS = 8;

/** Returns the public name `mcp__server__tool`, with a hash suffix if characters or the length had to change. */
export function publicName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`;
  return isLegal(plain) ? plain : distinctName(server, tool);
}

/** Returns the public name with a hash suffix. `more` distinguishes entries with the same server and tool. */
export function distinctName(server: string, tool: string, ...more: readonly string[]): string {
  // Cut before replacing as well: a replaced character has at most two UTF-16 units.
  const safe = `mcp__${server}__${tool}`.slice(0, 2 * MAX_CHARS).replace(/[^A-Za-z0-9_-]/gu, '-');
  return `${safe.slice(0, MAX_CHARS - SUFFIX_CHARS - 1)}_${fingerprint([server, tool, ...more])}`;
}

/** Returns true if every client accepts the name: at most 64 of A-Z, a-z, 0-9, _ and -. */
export const isLegal = (name: string): boolean => name.length <= MAX_CHARS && /^[A-Za-z0-9_-]+$/.test(name);

// JSON, so that lone surrogates and separators cannot make two lists equal.
const fingerprint = (parts: readonly string[]) =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, SUFFIX_CHARS);

/**
 * Gives each item a unique name at the lowest level without a collision. All items that collide move to the next level,
 * so the order does not matter. An item at a lower level yields to one at a higher level, so no item can take over the
 * suffixed name of another.
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
