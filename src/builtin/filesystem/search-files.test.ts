import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { aTree, layTraps, serve } from './fixtures.ts';
import { openRoots } from './places/roots.ts';
import { searchFilesTool } from './search-files.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

const add = (...names: string[]) => {
  for (const name of names) {
    mkdirSync(join(tree.root, name, '..'), { recursive: true });
    writeFileSync(join(tree.root, name), '');
  }
};
const { signal } = new AbortController();
const LIMITS = { maxHits: 100, maxEntries: 100_000, maxMs: 30_000 };
const found = (result: JsonObject) =>
  result.structuredContent as { files: string[]; truncated: boolean; reason?: string };

verifies('B1', 'returns the absolute paths of the matching files, sorted', async () => {
  add('a.ts', 'b/a.ts', 'b/c/z.ts', 'b/c/z.js', '.x/a.ts', 'b/.a.ts');
  const { search } = await serve({ roots: [tree.root, tree.second] });
  const paths = (...names: string[]) => names.map((name) => join(tree.root, name));
  const { result, text } = await search('**/*.ts');
  expect(result.structuredContent).toEqual({
    rootPath: tree.root,
    files: paths('a.ts', 'b/a.ts', 'b/c/z.ts'),
    truncated: false,
  });
  expect(JSON.parse(text)).toEqual(result.structuredContent);
  expect(found((await search('*/z.*', { rootPath: 'b' })).result).files).toEqual(paths('b/c/z.js', 'b/c/z.ts'));
  expect(found((await search('**/.*')).result).files).toEqual(paths('b/.a.ts'));
  expect(found((await search('{.x,b}/*.ts')).result).files).toEqual(paths('.x/a.ts', 'b/a.ts'));
  const other = await search('*', { rootPath: tree.second });
  expect(found(other.result).files).toEqual([join(tree.second, 'other.txt')]);
});

it('follows no link, and finds neither pipes nor hidden paths', async () => {
  layTraps(tree);
  symlinkSync('sub/inner.txt', join(tree.root, 'in-file'));
  add('home/secret-key');
  const { search } = await serve({ roots: [tree.root], hidden: [join(tree.root, 'home')] });
  const { files } = found((await search('**')).result);
  expect(files).toEqual(['hard', 'hello.txt', 'sub/inner.txt'].map((name) => join(tree.root, name)));
  expect((await search('*', { rootPath: 'out-dir' })).text).toMatch(/outside the allowed roots/);
  expect((await search('*', { rootPath: 'hello.txt' })).text).toMatch(/is not a directory/);
  expect((await search('*', { rootPath: 'home' })).text).toMatch(/outside the allowed roots/);
});

describe('a search that ends early says why', () => {
  const run = async (limits: Partial<typeof LIMITS>, clock?: () => number) => {
    const roots = await openRoots([tree.root]);
    const tool = searchFilesTool({ roots, limits: { ...LIMITS, ...limits }, ...(clock && { clock }) });
    return found(await tool.run({ pattern: '**' }, signal));
  };

  it('at 100 files', async () => {
    add(...Array.from({ length: 101 }, (_, index) => `many/${index}`));
    const { search } = await serve({ roots: [tree.root] });
    const { files, truncated, reason } = found((await search('many/*')).result);
    expect([files.length, truncated, reason]).toEqual([100, true, expect.stringMatching(/more than 100 files/)]);
    expect(await run({ maxHits: 103 })).toMatchObject({ truncated: false });
  });

  it('at the limit of entries', async () => {
    add('a', 'b', 'c');
    expect(await run({ maxEntries: 4 })).toMatchObject({ truncated: true, reason: expect.stringMatching(/4 entries/) });
    expect(await run({ maxEntries: 7 })).toMatchObject({ truncated: false });
  });

  it('after 30 seconds', async () => {
    let now = 0;
    const { truncated, reason } = await run({}, () => (now += 8000));
    expect([truncated, reason]).toEqual([true, expect.stringMatching(/after 30 seconds/)]);
  });

  it('at 512 levels, without an open handle left', async () => {
    mkdirSync(join(tree.root, 'd/'.repeat(520)), { recursive: true });
    expect(await run({})).toMatchObject({ truncated: true, reason: expect.stringMatching(/512 levels/) });
  });
});

verifies('B1', 'takes no further step after a cancellation, and lets others run every 10 ms', async () => {
  add(...Array.from({ length: 50 }, (_, index) => `d${index}/f`));
  const abort = new AbortController();
  let [steps, stepsAfterAbort] = [0, 0];
  const clock = () => {
    if (abort.signal.aborted) stepsAfterAbort++;
    return steps++;
  };
  const tool = searchFilesTool({ roots: await openRoots([tree.root]), limits: LIMITS, clock });
  const searching = tool.run({ pattern: '**' }, abort.signal);
  // A turn of the event loop comes after at most 10 ms of the clock, so this runs during the search.
  const stop = () => (steps < 15 ? setImmediate(stop) : abort.abort());
  setImmediate(stop);
  await expect(searching).rejects.toMatchObject({ name: 'AbortError' });
  expect(stepsAfterAbort).toBe(0);
  expect(steps).toBeLessThan(100);
});
