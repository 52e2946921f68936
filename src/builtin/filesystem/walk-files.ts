import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../core/time.ts';
import { unlessRefused } from './entries.ts';
import { type GlobPattern, hideDot } from './glob-pattern.ts';
import type { FilePlace } from './places/place.ts';
import type { Roots } from './places/roots.ts';

// One handle is open per level.
const MAX_DEPTH = 512;
// Other calls and a cancellation are served at least this often.
const TURN_MS = 10;

export interface WalkLimits {
  readonly maxHits: number;
  readonly maxEntries: number;
  readonly maxMs: number;
}

export interface WalkOptions extends WalkLimits {
  readonly glob: GlobPattern;
  /** Tests a path below the start, in which `hideDot` has replaced dots. */
  readonly matches: (hidden: string) => boolean;
  /** Paths that are not entered and not found. */
  readonly hides: (absolute: string) => boolean;
  readonly hidesPlace: Roots['hidesPlace'];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The files found, as absolute paths in order, and the reason why there may be more. */
export interface FoundFiles {
  readonly files: readonly string[];
  readonly reason: string | undefined;
}

/** Finds the regular files below a directory that match a glob. Follows no symbolic link. */
export async function walkFiles(start: FilePlace, options: WalkOptions): Promise<FoundFiles> {
  const walk = new Walk(options);
  await walk.visit(start, { hidden: '', depth: 0 });
  return { files: walk.files.sort(), reason: walk.reason };
}

interface Level {
  /** The path of the directory below the start, with a slash at its end, as `matches` gets it. */
  readonly hidden: string;
  readonly depth: number;
}

/** The state of one search, over all its directories. */
class Walk {
  readonly files: string[] = [];
  reason: string | undefined;
  readonly #options: WalkOptions;
  readonly #end: number;
  #entries = 0;
  #turnAt: number;

  constructor(options: WalkOptions) {
    this.#options = options;
    this.#turnAt = options.clock();
    this.#end = this.#turnAt + options.maxMs;
  }

  /** Searches the files of a directory, then its subdirectories, each sorted by name. */
  async visit(place: FilePlace, level: Level): Promise<void> {
    const folders: string[] = [];
    for (const entry of await this.#entriesOf(place)) {
      if (!(await this.#goesOn())) return;
      if (entry.isDirectory()) folders.push(entry.name);
      else if (entry.isFile()) this.#test(place, entry.name, level);
    }
    for (const name of folders) {
      if (!(await this.#goesOn())) return;
      if (this.#mayContain(name, level.depth)) await this.#enter(place, name, level);
    }
  }

  #test(place: FilePlace, name: string, { hidden }: Level): void {
    const { matches, hides, maxHits } = this.#options;
    if (!matches(hidden + hideDot(name))) return;
    const path = join(place.real, name);
    if (hides(path)) return;
    if (this.files.length === maxHits) this.reason = `There are more than ${maxHits} files. Use a narrower pattern.`;
    else this.files.push(path);
  }

  /** Tests whether files below a directory can match. */
  #mayContain(name: string, depth: number): boolean {
    const { prefix, maxDepth, namesDot } = this.#options.glob;
    if (depth + 1 >= maxDepth || (name.startsWith('.') && !namesDot)) return false;
    return depth >= prefix.length || prefix[depth] === name;
  }

  async #enter(parent: FilePlace, name: string, { hidden, depth }: Level): Promise<void> {
    if (this.#options.hides(join(parent.real, name))) return;
    if (depth === MAX_DEPTH) {
      this.reason = `Directories deeper than ${MAX_DEPTH} levels were not searched. Set rootPath to a deeper one.`;
      return;
    }
    const place = await unlessRefused(() => parent.child(name));
    if (!place) return;
    try {
      const below = { hidden: `${hidden}${hideDot(name)}/`, depth: depth + 1 };
      // It may have become a link or a file since it was listed.
      if (place.stats.isDirectory() && !this.#options.hidesPlace(place.stats))
        await unlessRefused(() => this.visit(place, below));
    } finally {
      await place.close();
    }
  }

  async #entriesOf(place: FilePlace): Promise<readonly Dirent[]> {
    const { maxEntries } = this.#options;
    const entries: Dirent[] = [];
    for await (const entry of await opendir(place.address, { bufferSize: 1024 })) {
      if (this.#entries === maxEntries) {
        this.reason = `The search ended after ${maxEntries} entries. Set rootPath to a deeper directory.`;
        break;
      }
      if (!(await this.#goesOn())) break;
      this.#entries++;
      entries.push(entry);
    }
    return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Returns false when a limit is reached. Throws when the call is cancelled. */
  #goesOn(): boolean | Promise<boolean> {
    const { clock, signal, maxMs } = this.#options;
    signal.throwIfAborted();
    if (this.reason !== undefined) return false;
    const now = clock();
    if (now >= this.#end) {
      this.reason = `The search ended after ${maxMs / 1000} seconds. Set rootPath to a deeper directory.`;
      return false;
    }
    if (now - this.#turnAt < TURN_MS) return true;
    this.#turnAt = now;
    return setImmediate(true);
  }
}
