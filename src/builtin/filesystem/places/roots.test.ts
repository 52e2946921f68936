import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import type { JsonObject } from '../../../core/call.ts';
import { META, MODERN_VERSION } from '../../../wire/mcp.ts';
import { aTree, SECRET, serve } from '../fixtures.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

const uriOf = (path: string) => String(pathToFileURL(path));

/** Calls a tool as a modern client whose `roots/list` returns the given URIs. */
async function callWithRoots(
  uris: readonly string[] | undefined,
  name: string,
  input: JsonObject,
  roots = [tree.root],
) {
  const { peer } = await serve({ roots, clientRoots: true });
  const capabilities = uris ? { roots: {} } : {};
  const meta = { [META.protocolVersion]: MODERN_VERSION, [META.clientCapabilities]: capabilities };
  const params = { name, arguments: input, _meta: meta };
  const first = await peer.request('tools/call', params, { deadlineMs: 120_000 });
  if (!uris) return first;
  expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { roots: { method: 'roots/list' } } });
  const inputResponses = { roots: { roots: uris.map((uri) => ({ uri })) } };
  return peer.request('tools/call', { ...params, inputResponses }, { deadlineMs: 120_000 });
}

const textOf = (result: JsonObject) => (result.content as { text: string }[])[0]?.text;
const read = async (uris: readonly string[] | undefined, path: string) =>
  textOf(await callWithRoots(uris, 'fs_read_file', { path }));

verifies('B1', 'hides a folder by another path, and one that a link leads to before it exists', async () => {
  const [home, moved] = [join(tree.root, 'home'), join(tree.root, 'moved')];
  mkdirSync(home);
  writeFileSync(join(home, 'key'), SECRET);
  symlinkSync('sub', join(tree.root, 'link'));
  const hidden = [home, join(tree.root, 'link/later')];
  const { read, write, list, search } = await serve({ roots: [tree.root], hidden });
  renameSync(home, moved); // As with a bind mount, another path leads to the same folder.
  mkdirSync(join(tree.root, 'sub/later'));
  writeFileSync(join(tree.root, 'sub/later/key'), SECRET);
  for (const path of ['moved/key', 'sub/later/key', 'link/later/key']) {
    expect.soft((await read(path)).text, path).toMatch(/outside the allowed roots/);
    expect.soft((await write(path, 'x')).text, path).toMatch(/outside the allowed roots/);
  }
  expect((await list({ recursive: true })).text).not.toContain('key');
  expect((await search('**/key')).result.structuredContent).toMatchObject({ files: [] });
  expect(readFileSync(join(moved, 'key'), 'utf8')).toBe(SECRET);
});

describe('the roots of a client', () => {
  verifies('B1', 'narrow the configured ones', async () => {
    const sub = [uriOf(join(tree.root, 'sub'))];
    expect(await read(sub, 'inner.txt')).toBe('inner\n');
    expect(await read(sub, join(tree.root, 'sub/inner.txt'))).toBe('inner\n');
    expect(await read(sub, join(tree.root, 'hello.txt'))).toMatch(/outside the allowed roots/);
    expect(await read(sub, '../hello.txt')).toMatch(/outside the allowed roots/);
    const written = await callWithRoots(sub, 'fs_write_file', { path: '../hello.txt', content: 'x' });
    expect(textOf(written)).toMatch(/outside the allowed roots/);
    const found = await callWithRoots(sub, 'fs_search_files', { pattern: '**' });
    expect(found.structuredContent).toMatchObject({ rootPath: join(tree.root, 'sub') });
  });

  verifies('B1', 'never widen the configured ones', async () => {
    symlinkSync(tree.outside, join(tree.root, 'way-out'));
    for (const uri of [tree.outside, tree.base, '/', join(tree.root, 'way-out')].map(uriOf)) {
      const text = await read([uri], join(tree.outside, 'secret.txt'));
      expect(text).not.toContain(SECRET);
      expect(text).toMatch(/outside the allowed roots|inside the allowed roots/);
    }
    expect(await read([uriOf('/')], 'hello.txt')).toBe('hello\n');
  });

  it('are URLs: spaces, umlauts and percent signs are decoded', async () => {
    const folder = join(tree.root, 'a b%20ü#?');
    mkdirSync(folder);
    writeFileSync(join(folder, 'x'), 'found');
    expect(await read([uriOf(folder)], 'x')).toBe('found');
    expect(await read([`file://${join(tree.root, 'sub').replace('/root/', '/ro%6ft/')}`], 'inner.txt')).toBe('inner\n');
  });

  it.each([
    ['an empty list', []],
    ['a root that is gone', ['file:///nowhere/at/all']],
    ['another scheme', ['https://example.com/']],
    ['another host', ['file://server/share']],
    ['a path instead of a URI', ['/tmp']],
    ['an encoded slash', ['file:///tmp%2Fx']],
  ])('allow nothing if they are %s', async (_what, uris) => {
    expect(await read(uris, 'hello.txt')).toMatch(/None of the roots of this client is inside the allowed roots/);
  });

  it('are not needed of a client without roots', async () => {
    expect(await read(undefined, 'hello.txt')).toBe('hello\n');
  });

  it('are not asked for without clientRoots', async () => {
    const { peer } = await serve({ roots: [tree.root] });
    const _meta = { [META.protocolVersion]: MODERN_VERSION, [META.clientCapabilities]: { roots: {} } };
    const call = { name: 'fs_read_file', arguments: { path: 'hello.txt' }, _meta };
    expect(textOf(await peer.request('tools/call', call, { deadlineMs: 120_000 }))).toBe('hello\n');
  });
});
