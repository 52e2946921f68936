import { mkdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type Transport } from '@modelcontextprotocol/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { linkedPair } from '../../wire/linked-pair.ts';
import { listEntries } from './entries.ts';
import { aTree, serve } from './fixtures.ts';
import { listDirectoryTool } from './list-directory.ts';
import { findPlace } from './places/find-place.ts';
import type { FilePlace } from './places/place.ts';
import { openRoots } from './places/roots.ts';
import { serveFilesystem } from './serve-filesystem.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

interface Entry {
  readonly name: string;
  readonly children?: readonly Entry[];
}
const entriesOf = (result: JsonObject) => (result.structuredContent as JsonObject).entries as unknown as Entry[];
const names = (entries: readonly Entry[]): unknown[] =>
  entries.map(({ name, children }) => (children ? [name, ...names(children)] : name));

describe('listing', () => {
  verifies('B1', 'returns name, type, size and time of change, sorted by name', async () => {
    const { root } = tree;
    symlinkSync('hello.txt', join(root, 'link'));
    const time = new Date('2026-01-02T03:04:05.678Z');
    utimesSync(join(root, 'hello.txt'), time, time);
    const { list } = await serve({ roots: [root] });
    const { result, text } = await list();
    const stamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(result.structuredContent).toEqual({
      path: '.',
      entries: [
        { name: 'hello.txt', type: 'file', size: 6, modified: '2026-01-02T03:04:05.678Z' },
        { name: 'link', type: 'symlink', size: 9, modified: stamp },
        { name: 'sub', type: 'directory', size: expect.any(Number), modified: stamp },
      ],
      truncated: false,
    });
    expect(JSON.parse(text)).toEqual(result.structuredContent);
  });

  it('lists down to maxDepth and follows no link', async () => {
    const { root } = tree;
    mkdirSync(join(root, 'sub/deep/deeper/deepest'), { recursive: true });
    symlinkSync('..', join(root, 'sub/up'));
    const { list } = await serve({ roots: [root] });
    const shown = async (input: JsonObject) => names(entriesOf((await list(input)).result));
    expect(await shown({ maxDepth: 3 })).toEqual(['hello.txt', 'sub']);
    expect(await shown({ recursive: true, maxDepth: 1 })).toEqual(['hello.txt', 'sub']);
    expect(await shown({ recursive: true })).toEqual(['hello.txt', ['sub', ['deep', 'deeper'], 'inner.txt', 'up']]);
    expect(await shown({ recursive: true, maxDepth: 5, path: 'sub' })).toEqual([
      ['deep', ['deeper', ['deepest']]],
      'inner.txt',
      'up',
    ]);
  });

  it('refers to fs_read_file for a file, and refuses a maxDepth over 20', async () => {
    const { list } = await serve({ roots: [tree.root] });
    expect((await list({ path: 'hello.txt' })).text).toBe(
      '"hello.txt" is not a directory. Use fs_read_file for files.',
    );
    expect((await list({ recursive: true, maxDepth: 21 })).text).toMatch(/"maxDepth" has to be a whole number/);
  });
});

it('does not list a directory that became a link meanwhile', async () => {
  const { root, outside } = tree;
  const { signal } = new AbortController();
  const place = await findPlace(await openRoots([root], { platform: 'darwin' }), '.', signal);
  const late: FilePlace = {
    ...place,
    child(name) {
      renameSync(join(root, name), join(root, 'aside'));
      symlinkSync(outside, join(root, name));
      return place.child(name);
    },
  };
  const { entries } = await listEntries(late, {
    depth: 3,
    maxEntries: 10,
    hides: () => false,
    hidesPlace: () => false,
    signal,
  });
  await place.close();
  expect(JSON.stringify(entries)).not.toContain('secret.txt');
});

describe('a list that is too long', () => {
  it('is cut, deepest entries first, and marked as truncated', async () => {
    const { root } = tree;
    for (const name of ['z1', 'z2', 'z3']) writeFileSync(join(root, name), '');
    const tool = listDirectoryTool({ roots: await openRoots([root]), maxEntries: 6 });
    const run = (input: JsonObject) => tool.run(input, new AbortController().signal);

    const deep = await run({ recursive: true });
    expect(names(entriesOf(deep))).toEqual(['hello.txt', ['sub', 'deep'], 'z1', 'z2', 'z3']);
    expect(deep.structuredContent).toMatchObject({ truncated: true });
    expect(deep.content).toMatchObject([{}, { text: expect.stringMatching(/^The list is cut: it shows 6 entries/) }]);

    expect((await run({})).structuredContent).toMatchObject({ truncated: false });
    for (const name of ['z4', 'z5']) writeFileSync(join(root, name), '');
    const flat = await run({});
    expect(names(entriesOf(flat))).toEqual(['hello.txt', 'sub', 'z1', 'z2', 'z3', 'z4']);
    expect(flat.structuredContent).toMatchObject({ truncated: true });
  });

  it('is read only up to the limit of names', async () => {
    const { signal } = new AbortController();
    const place = await findPlace(await openRoots([tree.root]), '.', signal);
    const { entries, truncated } = await listEntries(place, {
      depth: 1,
      maxEntries: 10,
      maxNames: 1,
      hides: () => false,
      hidesPlace: () => false,
      signal,
    });
    await place.close();
    expect(entries).toHaveLength(1);
    expect(truncated).toBe(true);
  });

  it('shows its first 5000 entries', async () => {
    for (let count = 0; count < 5001; count++) writeFileSync(join(tree.second, `f${count}`), '');
    const { list } = await serve({ roots: [tree.second] });
    const { result } = await list();
    expect(entriesOf(result)).toHaveLength(5000);
    expect(result.structuredContent).toMatchObject({ truncated: true });
  });
});

describe('the tools as clients see them', () => {
  verifies('B3', 'state their category, risk, idempotence and need of approval', async () => {
    const { peer } = await serve({ roots: [tree.root] });
    const { tools } = await peer.request('tools/list', {}, { deadlineMs: 120_000 });
    const facts = {
      category: 'filesystem',
      riskLevel: 'low',
      idempotent: true,
      requiresApproval: false,
      requires: ['fs:read'],
    };
    const same = { annotations: { readOnlyHint: true, idempotentHint: true }, _meta: { 'dev.heddle/tool': facts } };
    expect(tools).toMatchObject([
      { name: 'fs_read_file', ...same },
      { name: 'fs_list_directory', ...same },
      { name: 'fs_search_files', ...same },
      { name: 'fs_get_file_info', ...same },
      { name: 'fs_write_file', _meta: { 'dev.heddle/tool': { riskLevel: 'medium', requires: ['fs:write'] } } },
    ]);
    const listed = tools as unknown as { name: string; title?: string; outputSchema?: object }[];
    expect(listed.every(({ title }) => title)).toBe(true);
    expect(listed.filter(({ outputSchema }) => !outputSchema).map(({ name }) => name)).toEqual(['fs_read_file']);
  });

  it.each(['legacy', 'auto'] as const)('work with the official client, negotiating as %s', async (mode) => {
    const [near, far] = linkedPair();
    await serveFilesystem(far, { roots: [tree.root], maxFileBytes: 1000 });
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(near as Transport);
    expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
    expect(client.getInstructions()).toContain(tree.root);
    await client.listTools(); // The client validates structured results against the listed output schemas.
    const listed = await client.callTool({ name: 'fs_list_directory', arguments: { recursive: true } });
    expect(listed.structuredContent).toMatchObject({ truncated: false });
    const found = await client.callTool({ name: 'fs_search_files', arguments: { pattern: '**/inner.*' } });
    expect(found.structuredContent).toMatchObject({ files: [join(tree.root, 'sub/inner.txt')] });
    const described = await client.callTool({ name: 'fs_get_file_info', arguments: { path: 'sub' } });
    expect(described.structuredContent).toMatchObject({ type: 'directory' });
    const written = await client.callTool({ name: 'fs_write_file', arguments: { path: 'new', content: 'x' } });
    expect(written.structuredContent).toMatchObject({ created: true });
    const read = await client.callTool({ name: 'fs_read_file', arguments: { path: 'sub/inner.txt' } });
    expect(read.content).toEqual([{ type: 'text', text: 'inner\n' }]);
    const refused = await client.callTool({ name: 'fs_read_file', arguments: { path: '/etc/passwd' } });
    expect(refused.isError).toBe(true);
    await client.close();
  });
});
