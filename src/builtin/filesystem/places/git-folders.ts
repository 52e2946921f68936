import { lstat, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { targetFrom } from './canonical-path.ts';

const MAX_POINTER_BYTES = 4096 + 'gitdir: \n'.length;
const MAX_CONFIG_BYTES = 256 * 1024;
const MAX_INCLUDES = 64;

/** Settings whose values git runs. Subsections are left out: `filter.clean` is that of each filter. */
const COMMAND =
  /^core\.(?:fsmonitor|sshcommand|pager|askpass|gitproxy|alternaterefscommand)$|^pager\.|\.(?:clean|smudge|process|textconv|external|driver|helper|command|cmd|program|editor|difffilter|packobjectshook|uploadpack|receivepack|defaultkeycommand)$/;
// A header, a key, or both. A comment does not continue on the next line, as a value does. Each character fits one way.
const LINE =
  /^[ \t\r]*(?:\[[ \t]*([\w.-]+)(?:[ \t]+"(?:[^"\\\n]|\\.)*")?[ \t]*\][ \t]*)?(?:([a-z][a-z0-9-]*)[ \t]*=((?:"(?:[^"\\\n]|\\[\s\S])*"|\\\r?\n|\\.|[^"\\\n#;])*))?/gim;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b' };

/** Tests whether git takes a folder for a repository or the git folder of a worktree, by any name: see gitrepository-layout. */
export async function isGitFolder(folder: string): Promise<boolean> {
  // HEAD may be a link to a branch that does not exist.
  if (!(await lstat(join(folder, 'HEAD')).catch(() => undefined))) return false;
  const [objects, refs, common] = await Promise.all(
    ['objects', 'refs', 'commondir'].map((name) => stat(join(folder, name)).catch(() => undefined)),
  );
  return common !== undefined || (objects?.isDirectory() === true && refs?.isDirectory() === true);
}

/**
 * Returns the paths from which git runs or reads commands because of the `.git` of a folder. They are the git folder, the
 * common folder of a worktree, included configuration, the folder of hooks, and files in commands.
 */
export async function pathsNamedByGit(dotGit: string, home = homedir()): Promise<readonly string[]> {
  const stats = await stat(dotGit).catch(() => undefined);
  if (!stats) return [];
  const work = dirname(dotGit);
  const pointer = stats.isFile() ? await pointerIn(dotGit, /^gitdir: (.+)$/m) : undefined;
  const folder = pointer === undefined ? dotGit : targetFrom(work, pointer);
  const named = await pointerIn(join(folder, 'commondir'), /^(.+)$/m);
  const common = named === undefined ? folder : targetFrom(folder, named);
  const files = [join(common, 'config'), join(folder, 'config.worktree')];
  return [folder, common, ...(await pathsNamedInConfig(files, [work], home))];
}

/**
 * Returns the files that git configuration includes, also indirectly, and its folders of hooks. Adds the files that its
 * commands name in the given work trees.
 */
export async function pathsNamedInConfig(
  files: readonly string[],
  workTrees: readonly string[],
  home = homedir(),
): Promise<readonly string[]> {
  const read = new Set<string>();
  const run: string[] = [];
  const waiting = [...files];
  for (let file = waiting.pop(); file !== undefined && read.size < MAX_INCLUDES; file = waiting.pop()) {
    if (read.has(file)) continue;
    read.add(file);
    for (const [name, value] of entriesOf(await textOf(file, MAX_CONFIG_BYTES))) {
      const path = value.replace(/^~(?=\/)/, () => home);
      if (/^include(?:if)?\.path$/.test(name)) waiting.push(targetFrom(dirname(file), path));
      if (name === 'core.hookspath') run.push(path);
      run.push(...filesRunBy(name, value, home));
    }
  }
  const inTrees = workTrees.flatMap((folder) => run.map((path) => targetFrom(folder, path)));
  return [...read, ...waiting].filter((file) => !files.includes(file)).concat(inTrees);
}

/** Yields the values of a git configuration as git reads them, by section and key in small letters without subsection. */
function* entriesOf(text: string): Generator<readonly [string, string]> {
  let section = '';
  for (const [, header, key, value = ''] of text.replace(/^\uFEFF/, '').matchAll(LINE)) {
    if (header !== undefined) section = header.toLowerCase();
    if (key !== undefined) yield [`${section}.${key.toLowerCase()}`, unquote(value.trim())];
  }
}

/** Removes quotes, which may begin anywhere in a value, and resolves what follows a backslash. */
const unquote = (value: string): string =>
  value.replace(/\\\r?\n|\\([\s\S])|"/g, (_, escaped: string | undefined) =>
    escaped === undefined ? '' : (ESCAPES[escaped] ?? escaped),
  );

/** Returns the words of a command that look like files: with `/` or `.`, such as `sh tools/clean.sh`. */
function filesRunBy(name: string, value: string, home: string): readonly string[] {
  if (!COMMAND.test(name)) return [];
  const plain = value
    .replace(/(?<=^|[\s!="'])~(?=\/)|\$HOME\b|\$\{HOME\}/g, () => home)
    // Most often the work tree: `$(git rev-parse --show-toplevel)/tools/clean.sh`.
    .replace(/\$(?:\([^()]*\)|\{\w*\}|\w+)/g, '.');
  const quoted = plain.match(/'[^']+'|"[^"]+"/g) ?? [];
  const words = [...quoted, ...plain.split(/[\s;&|<>()=!`]+/)].map((word) => word.replace(/["'\\]/g, ''));
  return words.filter((word) => /[/.]/.test(word) && /[^/.]/.test(word));
}

async function pointerIn(file: string, line: RegExp): Promise<string | undefined> {
  return line.exec(await textOf(file, MAX_POINTER_BYTES))?.[1];
}

/** Returns the text of a regular file; nothing of a larger one. */
async function textOf(file: string, maxBytes: number): Promise<string> {
  const stats = await stat(file).catch(() => undefined);
  if (!stats?.isFile() || stats.size > maxBytes) return '';
  return readFile(file, 'utf8').catch(() => '');
}
