import { spawnSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../core/call.ts';
import { linkedPair } from '../../wire/linked-pair.ts';
import { Peer } from '../../wire/peer.ts';
import { type FilesystemOptions, serveFilesystem } from './serve-filesystem.ts';

export const SECRET = 'secret content';

/** Creates two roots, a directory whose name begins like the first (`root-evil`), and a secret outside both. */
export function aTree() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-files-')));
  const root = join(base, 'root');
  const second = join(base, 'second');
  const outside = join(base, 'outside');
  for (const one of [root, second, outside, join(base, 'root-evil'), join(root, 'sub'), join(root, 'sub/deep')]) {
    mkdirSync(one);
  }
  writeFileSync(join(root, 'hello.txt'), 'hello\n');
  writeFileSync(join(root, 'sub/inner.txt'), 'inner\n');
  writeFileSync(join(second, 'other.txt'), 'other\n');
  writeFileSync(join(outside, 'secret.txt'), SECRET);
  writeFileSync(join(base, 'root-evil/secret.txt'), SECRET);
  return { base, root, second, outside, remove: () => rmSync(base, { recursive: true }) };
}

/** Creates links inside the root that lead outside, a link loop, a dangling link, a hard link and a FIFO. */
export function layTraps({ root, outside }: { root: string; outside: string }): void {
  const links: readonly (readonly [string, string])[] = [
    ['out-file', join(outside, 'secret.txt')],
    ['out-relative', '../outside/secret.txt'],
    ['out-dir', outside],
    ['out-proc', '/proc/self'],
    ['chain-1', 'chain-2'],
    ['chain-2', 'sub/chain-3'],
    ['sub/chain-3', '../out-dir/secret.txt'],
    ['sub/up', '../..'],
    ['loop-1', 'loop-2'],
    ['loop-2', 'loop-1'],
    ['dangling', 'nothing-here'],
  ];
  for (const [name, target] of links) symlinkSync(target, join(root, name));
  linkSync(join(outside, 'secret.txt'), join(root, 'hard'));
  spawnSync('mkfifo', [join(root, 'pipe')]);
}

/** Returns all paths below a directory, without following links. */
export function entriesBelow(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? [path, ...entriesBelow(path)] : [path];
  });
}

export interface Answer {
  readonly text: string;
  readonly isError: boolean;
  readonly result: JsonObject;
}

/** Serves the filesystem tools on a linked pair, and returns a client. */
export async function serve(options: Partial<FilesystemOptions> & Pick<FilesystemOptions, 'roots'>) {
  const [near, far] = linkedPair();
  await serveFilesystem(far, { maxFileBytes: 10_000, ...options });
  const peer = new Peer(near, { server: 'filesystem' });
  await peer.start();
  const call = async (name: string, input: JsonObject): Promise<Answer> => {
    const result = await peer.request('tools/call', { name, arguments: input }, { deadlineMs: 120_000 });
    const [first] = result.content as { text: string }[];
    return { text: first?.text ?? '', isError: result.isError === true, result };
  };
  return {
    peer,
    read: (path: string, more: JsonObject = {}) => call('fs_read_file', { path, ...more }),
    list: (input: JsonObject = {}) => call('fs_list_directory', input),
    write: (path: string, content: string, more: JsonObject = {}) => call('fs_write_file', { path, content, ...more }),
    search: (pattern: string, more: JsonObject = {}) => call('fs_search_files', { pattern, ...more }),
    info: (path: string) => call('fs_get_file_info', { path }),
  };
}
