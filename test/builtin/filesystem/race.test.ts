import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { aTree, SECRET, serve } from '../../../src/builtin/filesystem/fixtures.ts';
import { MEASURES } from '../../limits.ts';
import { verifies } from '../../requirements.ts';
import { until } from '../../until.ts';

const SWAPS = MEASURES ? 100_000 : 10_000;
const HARMLESS = 'harmless';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

/** Creates directories and files to swap, and the links to swap them for. */
function prepare({ root, outside }: { root: string; outside: string }): void {
  for (const one of ['swap', 'parent/middle/inner', 'race', 'aside']) mkdirSync(join(root, one), { recursive: true });
  for (const one of ['middle/inner', 'dir']) mkdirSync(join(outside, one), { recursive: true });
  for (const one of ['swap/secret.txt', 'file', 'parent/middle/inner/secret.txt']) {
    writeFileSync(join(root, one), HARMLESS);
  }
  for (const one of ['middle/inner/secret.txt', 'only-outside.txt', 'dir/secret.txt']) {
    writeFileSync(join(outside, one), SECRET);
  }
  symlinkSync(outside, join(root, 'trap'));
  symlinkSync(join(outside, 'secret.txt'), join(root, 'file-trap'));
}

// Every operation may fail: the tools create and replace the same names.
const LOOP = `
  const { mkdirSync, renameSync, rmSync, symlinkSync } = require('node:fs');
  const { parentPort, workerData: { root, outside, swaps } } = require('node:worker_threads');
  const attempt = (act) => { try { act(); } catch {} };
  const move = (from, to) => attempt(() => renameSync(root + '/' + from, root + '/' + to));
  const swap = (name, trap, kept) => { move(name, kept); move(trap, name); move(name, trap); move(kept, name); };
  for (let count = 0; count < swaps; count++) {
    if (count % 4 === 0) swap('swap', 'trap', 'aside/swap');
    if (count % 4 === 1) {
      swap('file', 'file-trap', 'aside/file');
      // A write during the swap can replace the link.
      attempt(() => rmSync(root + '/file-trap'));
      attempt(() => symlinkSync(outside + '/secret.txt', root + '/file-trap'));
    }
    if (count % 4 === 2) {
      move('parent', 'aside/parent');
      attempt(() => symlinkSync(outside, root + '/parent'));
      attempt(() => rmSync(root + '/parent'));
      move('aside/parent', 'parent');
    }
    if (count % 4 === 3) {
      attempt(() => rmSync(root + '/race/dir', { recursive: true, force: true }));
      attempt(() => symlinkSync(outside, root + '/race/dir'));
      attempt(() => rmSync(root + '/race/dir'));
    }
  }
  parentPort.postMessage('done');`;

const hashesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]);

const handles = () => readdirSync('/proc/self/fd').length;

describe.runIf(process.platform === 'linux')('while a thread swaps directories and files for links', () => {
  verifies(
    'B1',
    'no tool reads or writes outside the roots, and every handle is closed',
    async () => {
      const { root, outside } = tree;
      prepare(tree);
      const { read, list, search, info, write } = await serve({ roots: [root] });
      await search('*'); // Loads what a search needs, before handles are counted.
      const before = { outside: hashesOf(outside), handles: handles() };
      const swapping = new Worker(LOOP, { eval: true, workerData: { root, outside, swaps: SWAPS } });
      let isDone = false;
      swapping.once('message', () => (isDone = true));
      const fixed = ['swap/secret.txt', 'file', 'parent/middle/inner/secret.txt'];
      const paths = [...fixed, 'race/dir/secret.txt'];
      let calls = 0;
      while (!isDone) {
        const path = paths[calls++ % paths.length] as string;
        const createDirs = !fixed.includes(path); // A created directory would be in the way of the next swap.
        const answers = await Promise.all([
          read(path),
          list({ path: '.', recursive: true, maxDepth: 5 }),
          search('**/{only-outside,secret}*'),
          info(path),
          write(path, HARMLESS, { createDirs }),
        ]);
        for (const { text } of answers) expect(text).not.toMatch(/only-outside\.|secret content|internal error/);
        expect(answers[3].text).not.toContain(`"size":${SECRET.length}`);
      }
      await swapping.terminate();
      expect(calls).toBeGreaterThan(0);
      expect(hashesOf(outside)).toEqual(before.outside);
      await until('every handle is closed', () => handles() <= before.handles);
    },
    600_000,
  );
});
