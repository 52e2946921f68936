import type { Stats } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HeddleError } from '../../../core/errors.ts';
import { quote, ToolFailure } from '../../tool-failure.ts';
import { canonicalPath } from './canonical-path.ts';
import { fileIdentity } from './file-identity.ts';
import { isInside, isKernelPath } from './is-inside.ts';
import { isOnLocalDisk } from './local-disk.ts';
import { isLinkedAsProtected } from './protected-links.ts';
import { isSpelledInside, protectionOf } from './protected-paths.ts';

/** A directory inside a root, and the names that lead on from there. Only those from a link can have a `..`. */
export interface Location {
  readonly root: string;
  readonly names: readonly string[];
}

/** The directories that a caller may read, each resolved to its real path. */
export interface Roots {
  /** The configured paths, for messages. */
  readonly shown: string;
  /** True on Linux: directories are pinned by O_PATH handles, so no name is resolved twice. */
  readonly canPin: boolean;
  /** True if the roots are on local disks, where system calls are short. */
  readonly isLocal: boolean;
  /** Resolves a path of the caller by its text. Throws a `ToolFailure` when it is outside the roots. */
  locate(written: string): Location;
  /** Resolves an absolute path from a link; undefined when it is outside the roots. */
  find(absolute: string): Location | undefined;
  /** Tests whether a path is hidden even inside a root: kernel interfaces and the `hidden` paths. */
  hides(absolute: string): boolean;
  /** Tests whether a file or directory is a `hidden` one by another path, such as that of a bind mount. */
  hidesPlace(stats: Stats): boolean;
  /** Returns the reason for which a path may never be written, by its names: see `protectionOf`. */
  protectionOf(absolute: string): string | undefined;
  /** Tests whether a path without links may never be written, by what leads to it: see `isLinkedAsProtected`. */
  protectsByLink(real: string): Promise<boolean>;
  /** Returns the roots inside those of a client, given as URIs; all of them without a list. Throws a `ToolFailure` if there are none. */
  narrow(clientRoots: readonly string[] | undefined): Promise<Roots>;
}

interface Root {
  readonly written: string;
  readonly real: string;
}

const MAX_CLIENT_ROOTS = 100;
// The limit of the Linux kernel. A walk by handles could go deeper than other programs can.
const MAX_PATH_BYTES = 4095;

export interface RootOptions {
  readonly platform?: NodeJS.Platform | undefined;
  /** False makes all system calls in the thread pool. Default: by the file systems of the roots. */
  readonly isLocal?: boolean | undefined;
  /** Absolute paths inside the roots that callers may not read. */
  readonly hidden?: readonly string[] | undefined;
  /** Returns absolute paths of files that are never written. */
  readonly neverWritten?: (() => Promise<readonly string[]>) | undefined;
}

/** Resolves the roots once, at the start. Throws CONFIG_INVALID for a root that is not an absolute, existing directory. */
export async function openRoots(paths: readonly string[], options: RootOptions = {}): Promise<Roots> {
  const { platform = process.platform, hidden = [], neverWritten = async () => [] } = options;
  const canPin = platform === 'linux';
  if (canPin) await needHandlePaths();
  const roots = await Promise.all(paths.map(openRoot));
  const [first] = roots;
  if (!first) throw unusable('The filesystem server has no roots.', 'Name at least one directory it may read.');
  const secret = [...hidden, ...(await Promise.all(hidden.map((path) => canonicalPath(path))))];
  const identities = await Promise.all(hidden.map((path) => stat(path).then(fileIdentity, () => '')));
  const { isLocal = (await Promise.all(roots.map(({ real }) => isOnLocalDisk(real)))).every(Boolean) } = options;
  return rootsOf([first, ...roots.slice(1)], {
    canPin,
    isLocal,
    secret,
    identities: new Set(identities),
    neverWritten,
  });
}

interface RootRules {
  readonly canPin: boolean;
  readonly isLocal: boolean;
  /** Paths that are hidden even inside a root. */
  readonly secret: readonly string[];
  /** The identities of the hidden paths that existed at the start. */
  readonly identities: ReadonlySet<string>;
  readonly neverWritten: () => Promise<readonly string[]>;
}

function rootsOf(roots: readonly [Root, ...Root[]], rules: RootRules): Roots {
  const { canPin, isLocal, secret, identities, neverWritten } = rules;
  const [first] = roots;
  const shown = roots.map((root) => root.written).join(', ');
  const hides = (absolute: string) => isKernelPath(absolute) || secret.some((one) => isInside(one, absolute));

  const find = (absolute: string): Location | undefined => {
    if (hides(absolute)) return undefined;
    for (const { written, real } of roots) {
      const base = [real, written].find((one) => isInside(one, absolute));
      if (base === undefined) continue;
      const names = absolute.slice(base.length).split(sep).filter(Boolean);
      return hides(join(real, ...names)) ? undefined : { root: real, names };
    }
    return undefined;
  };

  return {
    shown,
    canPin,
    isLocal,
    find,
    hides,
    hidesPlace: (stats) => identities.has(fileIdentity(stats)),
    protectionOf: (absolute) =>
      isSpelledInside(absolute, secret) ? 'belongs to the state of Heddle' : protectionOf(absolute),
    protectsByLink: async (real) =>
      isLinkedAsProtected(real, { files: await neverWritten(), roots: roots.map((root) => root.real) }),
    async narrow(clientRoots) {
      if (!clientRoots) return this;
      const [start, ...others] = await narrowed(roots, clientRoots);
      if (start) return rootsOf([start, ...others], rules);
      const reason = 'None of the roots of this client is inside the allowed roots';
      throw new ToolFailure(`${reason}: ${shown}. Open a folder inside them in the client.`);
    },
    locate(written) {
      if (written === '') throw new ToolFailure('The path is empty. Write "." for the first root.');
      if (written.includes('\0')) throw new ToolFailure('The path contains a NUL character. Write it without.');
      const absolute = resolve(first.real, written);
      const location = find(absolute);
      if (location && Buffer.byteLength(absolute) > MAX_PATH_BYTES) {
        throw new ToolFailure(`${quote(written)} is too long for a path. Shorten it. Allowed roots: ${shown}.`);
      }
      if (location) return location;
      throw new ToolFailure(`${quote(written)} is outside the allowed roots. Use a path inside one of them: ${shown}.`);
    },
  };
}

async function openRoot(path: string): Promise<Root> {
  if (!isAbsolute(path)) throw unusable(`The root ${path} is not an absolute path.`, 'Write an absolute path.');
  const written = resolve(path);
  let real: string;
  let isDirectory: boolean;
  try {
    real = await realpath(written);
    isDirectory = (await stat(real)).isDirectory();
  } catch (cause) {
    const fix = 'Create the directory, or remove it from the roots.';
    throw unusable(`The root ${path} does not exist or cannot be read.`, fix, cause);
  }
  if (!isDirectory) throw unusable(`The root ${path} is not a directory.`, 'Name a directory.');
  if (isKernelPath(real)) throw unusable(`The root ${path} holds kernel interfaces, not files.`, 'Name another one.');
  return { written, real };
}

/** Returns the parts of the roots that are inside the roots of a client. */
async function narrowed(roots: readonly Root[], clientRoots: readonly string[]): Promise<readonly Root[]> {
  const found = await Promise.all(clientRoots.slice(0, MAX_CLIENT_ROOTS).map(toRealPath));
  const inside = found.flatMap((client) =>
    roots.flatMap((root) => {
      if (client === undefined) return [];
      if (isInside(root.real, client)) return [{ written: client, real: client }];
      return isInside(client, root.real) ? [root] : [];
    }),
  );
  return [...new Map(inside.map((root) => [root.real, root])).values()];
}

/** Returns the real path of a `file://` URI; undefined if it is no directory here. */
async function toRealPath(uri: string): Promise<string | undefined> {
  try {
    const real = await realpath(fileURLToPath(uri));
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}

async function needHandlePaths(): Promise<void> {
  try {
    await access('/proc/self/fd');
  } catch (cause) {
    throw unusable('Paths cannot be checked without /proc.', 'Mount /proc where the server runs.', cause);
  }
}

const unusable = (message: string, fix: string, cause?: unknown) =>
  new HeddleError('CONFIG_INVALID', message, { fix, cause });
