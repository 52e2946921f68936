import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aTree, serve } from './fixtures.ts';
import { openRoots } from './places/roots.ts';
import { readFileTool } from './read-file.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

const put = (name: string, content: string | Uint8Array) => writeFileSync(join(tree.root, name), content);

const IMAGES: readonly (readonly [string, readonly number[]])[] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1]],
  ['image/jpeg', [0xff, 0xd8, 0xff, 0xe0, 0]],
  ['image/gif', [...Buffer.from('GIF87a'), 1, 0]],
  ['image/gif', [...Buffer.from('GIF89a'), 1, 0]],
  ['image/webp', [...Buffer.from('RIFF'), 9, 0, 0, 0, ...Buffer.from('WEBPVP8 '), 0]],
];

describe('reading an image', () => {
  it.each(IMAGES)('returns %s as image content, by its first bytes', async (mimeType, bytes) => {
    put('picture', Uint8Array.from(bytes));
    const { read } = await serve({ roots: [tree.root] });
    const data = Buffer.from(bytes).toString('base64');
    expect((await read('picture')).result).toEqual({ content: [{ type: 'image', data, mimeType }] });
    expect((await read('picture', { encoding: 'base64' })).text).toBe(data);
    expect((await read('picture', { encoding: 'utf-8' })).text).toMatch(/is not UTF-8 text/);
    expect((await read('picture', { limit: 8, offset: 1 })).result.content).not.toMatchObject([{ type: 'image' }]);
  });

  it('returns text that begins like an image as text', async () => {
    put('notes', 'GIF89a is a format.');
    put('riff', 'RIFF1234WEBP is another.');
    const { read } = await serve({ roots: [tree.root] });
    expect([(await read('notes')).text, (await read('riff')).text]).toEqual([
      'GIF89a is a format.',
      'RIFF1234WEBP is another.',
    ]);
  });
});

describe('reading text', () => {
  verifies('B1', 'returns exactly the content of a file', async () => {
    const { read } = await serve({ roots: [tree.root] });
    put('windows.txt', '\ufeffone\r\ntwo — “three” 🧵\n');
    expect((await read('windows.txt')).result).toEqual({
      content: [{ type: 'text', text: '\ufeffone\r\ntwo — “three” 🧵\n' }],
    });
    put('empty.txt', '');
    expect(await read('empty.txt')).toMatchObject({ text: '', isError: false });
  });

  it.each([1, 2, 3, 4, 5, 7, 64])('returns parts of %i bytes that join to the whole text', async (limit) => {
    const whole = 'aé—🧵z🧵é';
    put('mixed.txt', whole);
    const { read } = await serve({ roots: [tree.root] });
    let joined = '';
    for (let offset = 0; offset < Buffer.byteLength(whole); offset += limit) {
      const part = await read('mixed.txt', { offset, limit });
      expect(part.isError).toBe(false);
      joined += part.text;
    }
    expect(joined).toBe(whole);
  });

  verifies('B1', 'returns ranges that join to the whole file, as text and as base64', async () => {
    const { read } = await serve({ roots: [tree.root] });
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((one) => !one.includes('\0'));
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 16 }), async (whole, limit) => {
        put('any', whole);
        const size = Buffer.byteLength(whole);
        const offsets = Array.from({ length: Math.ceil(size / limit) }, (_, index) => index * limit);
        const parts = await Promise.all(offsets.map((offset) => read('any', { offset, limit })));
        expect(parts.map((part) => part.text).join('')).toBe(whole);
        const bytes = await Promise.all(offsets.map((offset) => read('any', { offset, limit, encoding: 'base64' })));
        const joined = Buffer.concat(bytes.map((part) => Buffer.from(part.text, 'base64')));
        expect(joined.equals(Buffer.from(whole))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('reads to the end without a limit, and refuses an offset beyond the end', async () => {
    const { read } = await serve({ roots: [tree.root] });
    expect((await read('hello.txt', { offset: 2 })).text).toBe('llo\n');
    expect((await read('hello.txt', { offset: 2, limit: 100 })).text).toBe('llo\n');
    expect(await read('hello.txt', { offset: 6 })).toMatchObject({ text: '', isError: false });
    expect((await read('hello.txt', { offset: 7 })).text).toBe(
      '"hello.txt" has 6 bytes, so there is nothing at offset 7. Use a smaller one.',
    );
  });

  it.each([
    ['a byte that is invalid in UTF-8', [0x61, 0xff, 0x62]],
    ['continuation bytes without a lead byte', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80]],
    ['a lead byte without continuation bytes', [0x61, 0xe2, 0x80]],
    ['UTF-16', [...Buffer.from('text', 'utf16le')]],
  ])('refuses %s as text and suggests base64', async (_what, bytes) => {
    put('binary', Uint8Array.from(bytes));
    const { read } = await serve({ roots: [tree.root] });
    const refused = await read('binary');
    expect(refused).toMatchObject({
      text: '"binary" is not UTF-8 text. Read it with encoding "base64".',
      isError: true,
    });
    const answer = await read('binary', { encoding: 'base64' });
    expect([...Buffer.from(answer.text, 'base64')]).toEqual(bytes);
  });
});

describe('large files', () => {
  it('are refused with their size, and can be read in parts', async () => {
    const content = Buffer.alloc(2_500_000, 'abcdefg');
    put('big.bin', content);
    const { read } = await serve({ roots: [tree.root], maxFileBytes: 2_000_000 });
    const refused = await read('big.bin');
    expect(refused.text).toBe(
      '"big.bin" has 2500000 bytes, and at most 2000000 are read at once. Read a part with offset and limit.',
    );
    const first = await read('big.bin', { limit: 2_000_000, encoding: 'base64' });
    const rest = await read('big.bin', { offset: 2_000_000, encoding: 'base64' });
    const joined = Buffer.concat([Buffer.from(first.text, 'base64'), Buffer.from(rest.text, 'base64')]);
    expect(joined.equals(content)).toBe(true);
    expect((await read('big.bin', { limit: 2_000_001 })).text).toMatch(/"limit" has to be a whole number from 1 to/);
  });

  it('may be exactly as large as the limit', async () => {
    put('exact.txt', 'x'.repeat(10_000));
    put('over.txt', 'x'.repeat(10_001));
    const { read } = await serve({ roots: [tree.root], maxFileBytes: 10_000 });
    expect((await read('exact.txt')).isError).toBe(false);
    expect((await read('over.txt')).isError).toBe(true);
  });
});

describe('arguments and roots', () => {
  it('report a missing path', async () => {
    const { peer } = await serve({ roots: [tree.root] });
    const result = await peer.request('tools/call', { name: 'fs_read_file' }, { deadlineMs: 120_000 });
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/"path" is missing/) }] });
  });

  it('shorten a very long path in the message', async () => {
    const { read } = await serve({ roots: [tree.root] });
    expect((await read(`/${'long/'.repeat(20_000)}`)).text.length).toBeLessThan(1000);
  });

  it.each([
    ['missing', /does not exist/],
    ['root/hello.txt', /is not a directory/],
  ])('reject the root %s at the start', async (name, message) => {
    const starting = serve({ roots: [tree.root, join(tree.base, name)] });
    await expect(starting).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) });
  });

  it('reject an empty list of roots, a relative root and kernel interfaces at the start', async () => {
    for (const roots of [[], ['relative/path'], ['/proc/self'], ['/dev']]) {
      await expect(serve({ roots })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
  });

  it('throw AbortError when the call is cancelled', async () => {
    const tool = readFileTool({ roots: await openRoots([tree.root]), maxFileBytes: 100 });
    await expect(tool.run({ path: 'hello.txt' }, AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' });
  });
});
