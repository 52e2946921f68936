import { chmodSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { timeOf } from './entries.ts';
import { aTree, layTraps, serve } from './fixtures.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

verifies('B1', 'returns path, type, size, times and permissions of a file', async () => {
  const { root } = tree;
  const [accessed, modified] = ['2026-01-02T03:04:05.678Z', '2026-02-03T04:05:06.789Z'];
  utimesSync(join(root, 'hello.txt'), new Date(accessed), new Date(modified));
  chmodSync(join(root, 'hello.txt'), 0o644);
  symlinkSync('hello.txt', join(root, 'link'));
  const { info } = await serve({ roots: [root] });
  const { result, text } = await info('link');
  const permissions = { readable: true, writable: true, executable: false, mode: '0644' };
  expect(result.structuredContent).toEqual({
    ...{ path: join(root, 'hello.txt'), type: 'file', size: 6, created: expect.any(String), modified, accessed },
    permissions,
  });
  expect(JSON.parse(text)).toEqual(result.structuredContent);
});

it('returns null for a time that is outside the range of a date', () => {
  expect(timeOf(9e15)).toBeNull();
  expect(timeOf(0)).toBe('1970-01-01T00:00:00.000Z');
});

it('describes directories and pipes without opening them', async () => {
  layTraps(tree);
  const { info } = await serve({ roots: [tree.root] });
  expect((await info('.')).result.structuredContent).toMatchObject({ path: tree.root, type: 'directory' });
  expect((await info('pipe')).result.structuredContent).toMatchObject({ type: 'other', size: 0 });
  expect((await info('out-file')).text).toMatch(/outside the allowed roots/);
  expect((await info('missing')).text).toMatch(/does not exist/);
});
