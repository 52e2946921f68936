import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { aTree, entriesBelow, serve } from '../fixtures.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

verifies('B1', 'never writes a file that a protected path is a link to, also before that file exists', async () => {
  const { root } = tree;
  for (const folder of ['cfg', 'vs', 'agent', 'gitdir', 'gitdir/hooks', '.cursor', 'sub/.gemini']) {
    mkdirSync(join(root, folder));
  }
  writeFileSync(join(root, 'cfg/mcp.json'), '{}');
  symlinkSync('cfg/mcp.json', join(root, '.mcp.json'));
  symlinkSync('agent', join(root, '.claude'));
  symlinkSync('vs', join(root, '.vscode'));
  symlinkSync('cfg/not-yet.json', join(root, 'heddle.json'));
  symlinkSync('../cfg/cursor.json', join(root, '.cursor/mcp.json'));
  symlinkSync('../deep', join(root, 'sub/.gemini/settings.json'));
  writeFileSync(join(root, '.git'), 'gitdir: gitdir\n');
  writeFileSync(join(root, 'used.json'), '{}');
  const neverWritten = async () => [join(root, 'used.json'), join(root, '.claude/not-there')];
  const before = entriesBelow(root);
  const { write } = await serve({ roots: [root], neverWritten });
  const linked = ['cfg/mcp.json', 'agent/settings.json', 'agent/new/x', 'vs/mcp.json', 'cfg/not-yet.json'];
  for (const path of [
    ...linked,
    'cfg/cursor.json',
    'sub/deep/x',
    'gitdir/hooks/pre-commit',
    'used.json',
    'USED.json',
  ]) {
    expect.soft((await write(path, 'x')).text, path).toMatch(/never writes/);
  }
  expect(entriesBelow(root)).toEqual(before);
  for (const path of ['cfg/other.json', 'sub/mcp.json']) {
    expect.soft((await write(path, 'x')).isError, path).toBe(false);
  }
});

verifies('B1', 'never writes a file that a protected path in another folder is a link to', async () => {
  const { root } = tree;
  for (const folder of ['data', 'vs', 'one', 'one/two', 'one/two/.vscode', 'agent', 'three'])
    mkdirSync(join(root, folder));
  writeFileSync(join(root, 'data/config'), 'old');
  symlinkSync('../data', join(root, 'one/.git'));
  symlinkSync('../../../vs/mcp.json', join(root, 'one/two/.vscode/mcp.json'));
  symlinkSync('../../agent', join(root, 'sub/deep/.claude'));
  symlinkSync('../one', join(root, 'three/away'));
  symlinkSync('away/../late.json', join(root, 'three/heddle.json'));
  const before = entriesBelow(root);
  const { write } = await serve({ roots: [root] });
  for (const path of ['data/config', 'data/hooks/pre-commit', 'vs/mcp.json', 'agent/settings.json', 'late.json']) {
    expect.soft((await write(path, 'x')).text, path).toMatch(/never writes/);
  }
  expect(entriesBelow(root)).toEqual(before);
  for (const path of ['vs/other.json', 'three/late.json', 'one/x', 'three/head/x']) {
    expect.soft((await write(path, 'x')).isError, path).toBe(false);
  }
});
