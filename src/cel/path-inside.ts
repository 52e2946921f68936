import { posix } from 'node:path';
import { BoundedMap } from '../core/bounded-map.ts';
import { ComputationFailure } from './exact/computation-failure.ts';

const MAX_PATH_CHARS = 4096;
const MAX_FOLDERS = 1000;
const ENCODED = /%[0-9a-f]{2}/;
// Windows ignores dots and spaces at the end of a name.
const DOTS_ONLY = /\/[. ]{2,}(?:\/|$)/;
const DOT_END = /[. ](?:\/|$)/;
const ASCII = /^[\x20-\x7e]*$/;

const failureOf = (reason: string) => Object.freeze(new ComputationFailure(`the path of \`path.inside\` ${reason}`));

// Made once each: `exists` and `all` ignore errors, so that one per item would be made, each with its stack.
const NO_TEXT = failureOf('is not a text');
const RELATIVE = failureOf('is not absolute');
const TOO_LONG = failureOf(`is longer than ${MAX_PATH_CHARS} characters`);
const CONTROL = failureOf('has a control character');
const BACKSLASH = failureOf('has a backslash');
const PERCENT = failureOf('has a percent-encoded character');
const LOOKALIKE = failureOf('has a segment that looks like `..`, or a letter that looks like `/`');
const SPELLING = failureOf('differs from the folder only by case, or by letters that look alike');
const NO_FOLDER = Object.freeze(
  new ComputationFailure('the folder of `path.inside` is not a plain absolute path without `..`'),
);

/** A path in two forms: without `.`, `..` and doubled slashes, and as file systems that ignore case compare it. */
interface PlainPath {
  readonly normal: string;
  readonly folded: string;
}

const folders = new BoundedMap<string, PlainPath>(MAX_FOLDERS);

/**
 * Returns true if a path is a folder or below it. Compares normalised text and follows no links. Throws if some program
 * may read the path as another one: then neither true nor false is safe.
 */
export function isPathInside(path: unknown, folder: string): boolean {
  const { normal, folded } = plainPath(path);
  const wanted = folders.get(folder) ?? plainFolder(folder);
  if (isBelow(normal, wanted.normal)) return true;
  if (isBelow(withoutEnds(folded), wanted.folded)) throw SPELLING;
  return false;
}

/** Returns true if a text can be the folder of `path.inside`. */
export function isPlainFolder(text: string): boolean {
  try {
    plainFolder(text);
    return true;
  } catch {
    return false;
  }
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

function plainFolder(text: string): PlainPath {
  let made: PlainPath;
  try {
    made = plainPath(text);
  } catch {
    throw NO_FOLDER;
  }
  if (made.normal !== withoutSlash(text)) throw NO_FOLDER;
  const plain = { normal: made.normal, folded: withoutEnds(made.folded) };
  folders.set(text, plain);
  return plain;
}

function plainPath(text: unknown): PlainPath {
  if (typeof text !== 'string') throw NO_TEXT;
  if (text.length > MAX_PATH_CHARS) throw TOO_LONG;
  // Two slashes at the start are a server of Windows.
  if (!text.startsWith('/') || text.startsWith('//')) throw RELATIVE;
  if (/\p{Cc}/u.test(text)) throw CONTROL;
  const normal = withoutSlash(posix.normalize(text));
  const folded = fold(normal);
  if (folded.includes('\\')) throw BACKSLASH;
  if (ENCODED.test(folded)) throw PERCENT;
  if (DOTS_ONLY.test(folded) || (!ASCII.test(normal) && slashesIn(folded) !== slashesIn(normal))) throw LOOKALIKE;
  return { normal, folded };
}

const slashesIn = (text: string): number => text.split('/').length;

const withoutSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path);

/** Folds spellings that some file system or program takes for one: case, compatible letters, invisible characters. */
function fold(path: string): string {
  if (ASCII.test(path)) return path.toLowerCase();
  return path
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC');
}

/** Removes the dots and spaces at the end of each segment. */
function withoutEnds(path: string): string {
  if (!DOT_END.test(path)) return path;
  const shortened = path.split('/').map((segment) => {
    let end = segment.length;
    while (end > 0 && '. '.includes(segment[end - 1] as string)) end--;
    return segment.slice(0, end);
  });
  return shortened.join('/');
}
