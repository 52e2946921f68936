import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aTree } from './fixtures.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

// Only root can become another user.
const asRoot = process.platform === 'linux' && process.getuid?.() === 0;

describe.runIf(asRoot)('as a user without privileges', () => {
  /** Runs writes in a child process of another user and groups. Returns the texts of the results. */
  function writeAs(groups: readonly number[], paths: readonly string[]): readonly string[] {
    const program = join(import.meta.dirname, '../../../test/builtin/filesystem/write-as.ts');
    const args = [program, tree.root, groups.join(','), ...paths];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stderr).toBe('');
    return JSON.parse(stdout);
  }

  /** Creates a directory of user 1000 with a file. */
  function ownFile({ gid, mode }: { gid: number; mode: number }): string {
    const file = join(tree.root, 'own', 'file');
    mkdirSync(join(tree.root, 'own'));
    writeFileSync(file, 'old');
    chownSync(join(tree.root, 'own'), 1000, 1000);
    chownSync(file, 1000, gid);
    chmodSync(file, mode);
    for (const folder of [tree.base, tree.root]) chmodSync(folder, 0o755);
    return file;
  }

  it('gives the bits of the old group to no other group', () => {
    const file = ownFile({ gid: 4242, mode: 0o664 });
    expect(writeAs([1000], [file])).toEqual([expect.stringContaining('"created":false')]);
    const { gid, mode } = statSync(file);
    expect([gid, mode & 0o777]).toEqual([1000, 0o644]);
  });

  it('keeps a group of its own, also of a file of another user', () => {
    const file = ownFile({ gid: 4343, mode: 0o660 });
    chownSync(file, 1001, 4343);
    expect(writeAs([1000, 4343], [file])).toEqual([expect.stringContaining('"created":false')]);
    const { uid, gid, mode } = statSync(file);
    expect([uid, gid, mode & 0o777]).toEqual([1000, 4343, 0o660]);
  });

  it('writes in a directory that it may not read', () => {
    const file = ownFile({ gid: 1000, mode: 0o644 });
    chmodSync(join(tree.root, 'own'), 0o333);
    expect(writeAs([1000], [file])).toEqual([expect.stringContaining('"created":false')]);
    expect(readFileSync(file, 'utf8')).toBe('new');
  });
});
