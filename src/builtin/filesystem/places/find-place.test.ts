import { renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aTree, SECRET } from '../fixtures.ts';
import { findPlace } from './find-place.ts';
import { openRoots, type RootOptions } from './roots.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

const { signal } = new AbortController();

const onLinux = process.platform === 'linux';

const WAYS: readonly RootOptions[] = onLinux
  ? [{ platform: 'linux', isLocal: true }, { platform: 'linux', isLocal: false }, { platform: 'darwin' }]
  : [{ platform: process.platform }];

describe.each(WAYS)('with the rules for $platform and isLocal $isLocal', (way) => {
  it('throws AbortError when the call is cancelled', async () => {
    const roots = await openRoots([tree.root], way);
    await expect(findPlace(roots, 'hello.txt', AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('resolves a .. in a link after the link before it, as the system does', async () => {
    const { root, base } = tree;
    const links = {
      dl: 'sub/deep',
      up: 'dl/../inner.txt',
      'up-twice': './dl/..//../hello.txt',
      'sub/back': '../dl/../../sub/deep/..',
      absolute: `${root}/dl/../inner.txt`,
      'past-file': 'hello.txt/../hello.txt',
      above: 'dl/../../../outside/secret.txt',
      'above-and-back': 'dl/../../../root/hello.txt',
    };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
    const roots = await openRoots([root], way);
    const found = async (path: string) => {
      const place = await findPlace(roots, path, signal);
      await place.close();
      return place.real.slice(base.length);
    };
    expect(await found('up')).toBe('/root/sub/inner.txt');
    expect(await found('up-twice')).toBe('/root/hello.txt');
    expect(await found('sub/back')).toBe('/root/sub');
    expect(await found('sub/back/inner.txt')).toBe('/root/sub/inner.txt');
    expect(await found('absolute')).toBe('/root/sub/inner.txt');
    expect(await found('above-and-back')).toBe('/root/hello.txt');
    await expect(found('above')).rejects.toThrow(/outside the allowed roots/);
    await expect(found('past-file')).rejects.toThrow(/is not a directory/);
  });

  it('does not open a file that replaced the checked one', async () => {
    const place = await findPlace(await openRoots([tree.root], way), 'hello.txt', signal);
    writeFileSync(join(tree.root, 'new.txt'), SECRET);
    renameSync(join(tree.root, 'new.txt'), join(tree.root, 'hello.txt'));
    if (way.platform === 'linux') {
      await using file = await place.open();
      const bytes = Buffer.alloc(6);
      await file.read(bytes, 0);
      expect(bytes.toString()).toBe('hello\n');
    } else {
      await expect(place.open()).rejects.toThrow('The file was replaced while it was being opened. Read it again.');
    }
    await place.close();
  });
});
