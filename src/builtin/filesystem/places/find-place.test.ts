import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aTree, SECRET } from '../fixtures.ts';
import { findPlace } from './find-place.ts';
import { openRoots } from './roots.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

const { signal } = new AbortController();

const onLinux = process.platform === 'linux';

describe.each(onLinux ? (['linux', 'darwin'] as const) : [process.platform])('with the rules for %s', (platform) => {
  it('throws AbortError when the call is cancelled', async () => {
    const roots = await openRoots([tree.root], { platform });
    await expect(findPlace(roots, 'hello.txt', AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('does not open a file that replaced the checked one', async () => {
    const place = await findPlace(await openRoots([tree.root], { platform }), 'hello.txt', signal);
    writeFileSync(join(tree.root, 'new.txt'), SECRET);
    renameSync(join(tree.root, 'new.txt'), join(tree.root, 'hello.txt'));
    if (platform === 'linux') {
      await using file = await place.open();
      expect(await file.readFile('utf8')).toBe('hello\n');
    } else {
      await expect(place.open()).rejects.toThrow('The file was replaced while it was being opened. Read it again.');
    }
    await place.close();
  });
});
