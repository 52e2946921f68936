import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { quote, ToolFailure } from '../../tool-failure.ts';
import { fileErrorCode } from './file-error.ts';
import { canonicalPlace, linkTarget, openStart, pathAbove, refuseHidden, resolveWithinRoots } from './find-place.ts';
import type { FilePlace } from './place.ts';
import type { Location, Roots } from './roots.ts';

/** The file that a call writes, by its directory and name. */
export interface WriteTarget {
  readonly parent: FilePlace;
  readonly name: string;
  /** The file there now; undefined if there is none. */
  readonly existing: FilePlace | undefined;
  /** The directories in which directories were created for this file. */
  readonly createdIn: readonly FilePlace[];
  /** Removes the directories that were created for this file, if they are empty. */
  undo(): Promise<void>;
  close(): Promise<void>;
}

export interface TargetOptions {
  readonly roots: Roots;
  readonly path: string;
  readonly createDirs: boolean;
  readonly signal: AbortSignal;
}

/**
 * Finds the directory and name of a file to write. Creates missing directories one by one, each through the handle of
 * its parent. Follows symbolic links inside the roots, also at the end of the path. The caller closes the target.
 */
export async function findTarget(options: TargetOptions): Promise<WriteTarget> {
  const { roots, path } = options;
  if (/[/\\]$/.test(path)) throw new ToolFailure(`${quote(path)} names a directory. Write the name of a file.`);
  const search = new TargetSearch(options);
  try {
    return await resolveWithinRoots(roots, roots.locate(path), (location) => search.step(location));
  } catch (thrown) {
    await search.undo();
    await search.close();
    throw thrown;
  }
}

const LINKED = 'is in a git folder, or a configuration file that programs run by themselves leads to it';

interface CreatedDirectory {
  readonly parent: FilePlace;
  readonly name: string;
}

class TargetSearch {
  readonly #options: TargetOptions;
  // Their parents stay open, so that exactly these directories are removed again.
  readonly #created: CreatedDirectory[] = [];

  constructor(options: TargetOptions) {
    this.#options = options;
  }

  async undo(): Promise<void> {
    for (const { parent, name } of this.#created.toReversed()) await rmdir(join(parent.address, name)).catch(() => {});
  }

  async close(): Promise<void> {
    await Promise.all(this.#created.splice(0).map(({ parent }) => parent.close()));
  }

  /** Returns the target, or the path to resolve next when a name is a symbolic link. */
  async step(location: Location): Promise<WriteTarget | string> {
    const { roots } = this.#options;
    const name = location.names.at(-1);
    const path = quote(this.#options.path);
    if (name === undefined || name === '..')
      throw new ToolFailure(`${path} is a directory. Choose the name of a file.`);
    this.#refuseProtected(join(location.root, ...location.names));
    const found = await this.#findParent(location);
    if (typeof found === 'string') return found;
    const parent = await canonicalPlace(roots, found);
    try {
      this.#refuseProtected(join(parent.real, name));
      if (await roots.protectsByLink(join(parent.real, name))) throw this.#protected(LINKED);
      const existing = await orMissing(parent.child(name));
      if (existing) await refuseHidden(roots, existing);
      if (existing?.stats.isSymbolicLink()) {
        await existing.close();
        const target = await linkTarget(parent, [name]);
        await this.#release(parent);
        return target;
      }
      return this.#target(parent, name, existing);
    } catch (thrown) {
      await this.#release(parent);
      throw thrown;
    }
  }

  #target(parent: FilePlace, name: string, existing: FilePlace | undefined): WriteTarget {
    return {
      parent,
      name,
      existing,
      createdIn: this.#created.map((created) => created.parent),
      undo: () => this.undo(),
      close: async () => {
        await existing?.close();
        await this.#release(parent);
        await this.close();
      },
    };
  }

  #refuseProtected(absolute: string): void {
    const reason = this.#options.roots.protectionOf(absolute);
    if (reason !== undefined) throw this.#protected(reason);
  }

  #protected(reason: string): ToolFailure {
    return new ToolFailure(
      `${quote(this.#options.path)} ${reason}. This tool never writes it. Have the user change it.`,
    );
  }

  /** Opens the directory of a location name by name. Returns the path to resolve next at a symbolic link. */
  async #findParent(location: Location): Promise<FilePlace | string> {
    const { roots, signal } = this.#options;
    let place = await openStart(roots, location);
    for (const [index, name] of location.names.slice(0, -1).entries()) {
      const parent = place;
      try {
        signal.throwIfAborted();
        if (name === '..') return pathAbove(parent, location.names.slice(index));
        place = await this.#child(parent, name, location);
        await refuseHidden(roots, place);
        if (place.stats.isSymbolicLink()) {
          await place.close();
          return await linkTarget(parent, location.names.slice(index));
        }
      } finally {
        await this.#release(parent);
      }
    }
    return place;
  }

  async #child(parent: FilePlace, name: string, { names }: Location): Promise<FilePlace> {
    const found = await orMissing(parent.child(name));
    if (found) return found;
    // A `..` comes from a link: nothing is above a directory that its target does not have.
    if (!this.#options.createDirs || names.includes('..'))
      throw Object.assign(new Error('The directory is missing.'), { code: 'ENOENT' });
    try {
      await mkdir(join(parent.address, name));
      this.#created.push({ parent, name });
    } catch (thrown) {
      if (fileErrorCode(thrown) !== 'EEXIST') throw thrown; // Another process created it.
    }
    return parent.child(name);
  }

  /** Closes a place, unless it is needed to remove a created directory. */
  async #release(place: FilePlace): Promise<void> {
    if (!this.#created.some(({ parent }) => parent === place)) await place.close();
  }
}

async function orMissing(found: Promise<FilePlace>): Promise<FilePlace | undefined> {
  try {
    return await found;
  } catch (thrown) {
    if (fileErrorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}
