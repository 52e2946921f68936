import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aTree, layTraps, SECRET, serve } from '../../../src/builtin/filesystem/fixtures.ts';
import { verifies } from '../../requirements.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
  layTraps(tree);
});
afterEach(() => tree.remove());

const OUTSIDE = /outside the allowed roots/;
const MISSING = /does not exist/;

// `%` stands for the directory that contains the roots.
const WAYS_OUT: readonly (readonly [string, RegExp])[] = [
  ['../outside/secret.txt', OUTSIDE],
  ['sub/../../outside/secret.txt', OUTSIDE],
  ['..', OUTSIDE],
  ['%/outside/secret.txt', OUTSIDE],
  ['%/root/../outside/secret.txt', OUTSIDE],
  ['%/root-evil/secret.txt', OUTSIDE],
  ['../root-evil/secret.txt', OUTSIDE],
  ['/etc/passwd', OUTSIDE],
  ['/', OUTSIDE],
  ['/proc/self/environ', OUTSIDE],
  ['/proc/self/root/etc/passwd', OUTSIDE],
  ['/dev/zero', OUTSIDE],
  ['out-file', OUTSIDE],
  ['out-relative', OUTSIDE],
  ['out-dir/secret.txt', OUTSIDE],
  ['out-dir', OUTSIDE],
  ['out-proc/environ', OUTSIDE],
  ['chain-1', OUTSIDE],
  ['sub/up/outside/secret.txt', OUTSIDE],
  ['loop-1', /in a circle/],
  ['dangling', MISSING],
  ['hard', /more than one hard link/],
  ['pipe', /a device, a pipe or a socket/],
  ['hello.txt\0.png', /NUL/],
  ['', /empty/],
  ['sub', /is a directory. Use fs_list_directory/],
  ['missing.txt', MISSING],
  ['hello.txt/below', MISSING],
  ['HELLO.TXT', MISSING],
  ['ｈello.txt', MISSING],
  ['x'.repeat(5000), /too long/],
];

const onLinux = process.platform === 'linux';

describe.each(onLinux ? (['linux', 'darwin'] as const) : [process.platform])('with the rules for %s', (platform) => {
  verifies('B1', 'refuses every path outside the roots, with the reason', async () => {
    const { root, second, base } = tree;
    const { read, list } = await serve({ roots: [root, second], platform });
    for (const [way, reason] of WAYS_OUT) {
      const path = way.replace('%', base);
      const result = await read(path);
      expect.soft(result.isError, path).toBe(true);
      expect.soft(result.text, path).toMatch(reason);
      expect.soft(result.text, path).not.toContain(SECRET);
      if (reason === OUTSIDE) {
        expect.soft(result.text).toContain(`${root}, ${second}`);
        expect.soft((await list({ path })).text, `list ${path}`).toMatch(OUTSIDE);
      }
    }
  });

  it('follows links that end inside any root', async () => {
    const { root, second } = tree;
    symlinkSync('sub/inner.txt', join(root, 'in-file'));
    symlinkSync('..', join(root, 'sub/deep/parent'));
    symlinkSync(second, join(root, 'in-other'));
    const { read } = await serve({ roots: [root, second], platform });
    expect(await read('in-file')).toMatchObject({ text: 'inner\n', isError: false });
    expect(await read('sub/deep/parent/deep/parent/inner.txt')).toMatchObject({ text: 'inner\n', isError: false });
    expect(await read('in-other/other.txt')).toMatchObject({ text: 'other\n', isError: false });
    expect(await read(join(second, 'other.txt'))).toMatchObject({ text: 'other\n', isError: false });
  });

  it('accepts paths under a root that is a symbolic link', async () => {
    symlinkSync(tree.root, join(tree.base, 'alias'));
    const { read } = await serve({ roots: [join(tree.base, 'alias/')], platform });
    expect((await read(join(tree.base, 'alias/hello.txt'))).text).toBe('hello\n');
    expect((await read(join(tree.root, 'hello.txt'))).text).toBe('hello\n');
    expect((await read('hello.txt')).text).toBe('hello\n');
  });

  it('refuses kernel interfaces even if / is a root', async () => {
    const { read, list } = await serve({ roots: ['/'], platform });
    expect((await read('/proc/self/environ')).text).toMatch(OUTSIDE);
    expect((await read(join(tree.root, 'out-proc/environ'))).text).toMatch(OUTSIDE);
    expect((await read(join(tree.root, 'hello.txt'))).text).toBe('hello\n');
    expect((await list({ path: '/dev' })).text).toMatch(OUTSIDE);
  });
});

describe.runIf(onLinux)('in a race', () => {
  verifies('B1', 'reads nothing outside the roots while a directory is swapped for a link', async () => {
    const { root, outside } = tree;
    mkdirSync(join(root, 'swap'));
    writeFileSync(join(root, 'swap/secret.txt'), 'harmless');
    writeFileSync(join(outside, 'only-outside'), '');
    symlinkSync(outside, join(root, 'trap'));
    const { read, list } = await serve({ roots: [root] });
    const swapping = await startSwapping(root);
    const seen = { harmless: 0, refused: 0 };
    try {
      for (let count = 0; count < 2000 || !seen.harmless || !seen.refused; count++) {
        const { text, isError } = await read('swap/secret.txt');
        expect(text).not.toContain(SECRET);
        seen[isError ? 'refused' : 'harmless']++;
        if (!isError) expect(text).toBe('harmless');
        if (count % 20 !== 0) continue;
        const listing = await list({ recursive: true });
        expect(listing.isError).toBe(false);
        expect(listing.text).not.toContain('only-outside');
      }
    } finally {
      await swapping.terminate();
    }
  });
});

describe.runIf(onLinux)('over time', () => {
  it('refuses a root whose parent was swapped for a link', async () => {
    const { base } = tree;
    mkdirSync(join(base, 'parent/root'), { recursive: true });
    mkdirSync(join(base, 'outside/root'));
    writeFileSync(join(base, 'outside/root/hello.txt'), SECRET);
    const { read } = await serve({ roots: [join(base, 'parent/root')] });
    renameSync(join(base, 'parent'), join(base, 'was-parent'));
    symlinkSync(join(base, 'outside'), join(base, 'parent'));
    expect((await read('hello.txt')).text).toMatch(/root has moved/);
  });

  it('reads a root that was removed and created again', async () => {
    const { second } = tree;
    const { read } = await serve({ roots: [second] });
    rmSync(second, { recursive: true });
    expect((await read('other.txt')).text).toMatch(MISSING);
    mkdirSync(second);
    writeFileSync(join(second, 'other.txt'), 'again');
    expect((await read('other.txt')).text).toBe('again');
  });

  it('closes every handle, after failures too', async () => {
    const { base, root } = tree;
    symlinkSync('sub/inner.txt', join(root, 'in-file'));
    writeFileSync(join(root, 'binary'), Buffer.from([0xff, 0xfe]));
    writeFileSync(join(root, 'big'), Buffer.alloc(20_000));
    const { read, list } = await serve({ roots: [root] });
    const good = ['hello.txt', 'in-file', 'sub/inner.txt', 'binary', 'big', join(root, 'hello.txt')];
    const paths = [...good, ...WAYS_OUT.map(([way]) => way.replace('%', base))];
    const all = () => Promise.all(paths.map((path) => read(path)));
    const before = readdirSync('/proc/self/fd').length;
    // An unclosed handle is closed by the garbage collector, with a warning, which counts too.
    const warnings: string[] = [];
    const onWarning = (warning: Error) => warnings.push(warning.message);
    process.on('warning', onWarning);
    for (let count = 0; count < 1000; count += paths.length) await all();
    for (let count = 0; count < 20; count++) await list({ recursive: true });
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });
});

/** Swaps `swap` and the link `trap` in a thread, every 200 µs or less. */
async function startSwapping(root: string): Promise<Worker> {
  const loop = `
    const { renameSync } = require('node:fs');
    const { parentPort, workerData } = require('node:worker_threads');
    const [swap, aside, trap] = ['swap', 'aside', 'trap'].map((name) => workerData + '/' + name);
    const linger = (count) => {
      const end = performance.now() + ((count * 37) % 200) / 1000;
      while (performance.now() < end);
    };
    for (let count = 0; ; count++) {
      renameSync(swap, aside);
      renameSync(trap, swap);
      linger(count);
      renameSync(swap, trap);
      renameSync(aside, swap);
      linger(count * 3);
      if (count === 0) parentPort.postMessage('swapping');
    }`;
  const worker = new Worker(loop, { eval: true, workerData: root });
  await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  return worker;
}

it('hides the configured paths by name, by link and in listings, inside a root too', async () => {
  const hidden = join(tree.root, 'home');
  mkdirSync(hidden);
  writeFileSync(join(hidden, 'secret-key'), SECRET);
  symlinkSync(hidden, join(tree.root, 'way-in'));
  const { read, list } = await serve({ roots: [tree.root], hidden: [hidden] });
  for (const path of [
    'home/secret-key',
    'way-in/secret-key',
    join(hidden, 'secret-key'),
    './home/../home/secret-key',
  ]) {
    const result = await read(path);
    expect(result).toMatchObject({ isError: true });
    expect(result.text).not.toContain(SECRET);
  }
  expect((await list({ recursive: true })).text).not.toContain('secret-key');
});
