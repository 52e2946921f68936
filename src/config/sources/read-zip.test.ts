import { expect, it } from 'vitest';
import { type Packed, packed, zipOf } from '../fixtures.ts';
import { readZip } from './read-zip.ts';

const FILE: Packed = { name: 'a.txt', text: 'hello hello hello' };

it('reads stored and deflated files, in folders too', async () => {
  const zip = packed([
    FILE,
    { name: 'b/', text: '', method: 0, mode: 0o040755 },
    { name: 'b/c.txt', text: 'c', method: 0 },
  ]);
  const files = readZip(Buffer.concat([zip, Buffer.from('a signature')]));
  expect(files.map(({ name }) => name)).toEqual(['a.txt', 'b/c.txt']);
  expect(await Promise.all(files.map(async ({ read }) => (await read()).toString()))).toEqual([FILE.text, 'c']);
});

it.each<[string, readonly Packed[]]>([
  ['not a plain relative path', [{ ...FILE, name: '../a' }]],
  ['not a plain relative path', [{ ...FILE, name: 'a/../../b' }]],
  ['not a plain relative path', [{ ...FILE, name: '/etc/passwd' }]],
  ['not a plain relative path', [{ ...FILE, name: 'C:/x' }]],
  ['not a plain relative path', [{ ...FILE, name: 'a\\..\\b' }]],
  ['not a plain relative path', [{ ...FILE, name: 'a//b' }]],
  ['not a plain relative path', [{ ...FILE, name: './a' }]],
  ['not a plain relative path', [{ ...FILE, name: 'a\u0000b' }]],
  ['not a plain relative path', [{ ...FILE, name: '' }]],
  ['is a link or a device', [{ ...FILE, mode: 0o120777 }]],
  ['is a link or a device', [{ ...FILE, mode: 0o020666 }]],
  ['twice', [FILE, FILE]],
  ['twice', [FILE, { ...FILE, name: 'A.TXT' }]],
  ['twice', [FILE, { ...FILE, name: 'a.txt/b' }]],
  ['encrypted', [{ ...FILE, flags: 1 }]],
  ['the unknown compression method 12', [{ ...FILE, method: 12 }]],
  ['has two different headers', [{ ...FILE, localName: 'b.txt' }]],
  ['more than 104857600 bytes', [{ ...FILE, size: 100 * 1024 * 1024 + 1 }]],
  ['100 times its size', [{ ...FILE, size: 50 * 1024 * 1024 }]],
])('rejects an archive with the error: %s', (message, files) => {
  expect(() => readZip(packed(files))).toThrow(message);
});

it('rejects an archive with more than 10,000 files', () => {
  const many = Array.from({ length: 10_001 }, (_, index) => ({ name: `f${index}`, text: '', method: 0 }));
  expect(readZip(packed(many.slice(1)))).toHaveLength(10_000);
  expect(() => readZip(packed(many))).toThrow('more than 10000 files');
});

it('rejects overlapping entries', () => {
  const zip = packed([FILE, { ...FILE, name: 'b.txt' }]);
  const first = zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
  zip.writeUInt32LE(zip.readUInt32LE(first + 20) + 1, first + 20);
  expect(() => readZip(zip)).toThrow('entries that overlap');
});

it('throws for a damaged file when it is read', async () => {
  for (const lie of [{ crc: 1 }, { size: 3 }, { size: 30 }]) {
    const [file] = readZip(packed([{ ...FILE, ...lie }]));
    await expect(file?.read()).rejects.toThrow('is damaged at "a.txt"');
  }
});

it('rejects every truncated archive with CONFIG_INVALID', () => {
  const zip = zipOf({ 'a.txt': 'hello', 'b.txt': 'world' });
  expect(() => readZip(Buffer.from('nonsense'))).toThrow('is not a zip archive');
  for (let length = 0; length < zip.length; length++) {
    expect(() => readZip(zip.subarray(0, length))).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  }
  for (let at = 0; at < zip.length; at++) {
    const damaged = Buffer.from(zip);
    damaged[at] = 0xff;
    try {
      readZip(damaged);
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'CONFIG_INVALID' });
    }
  }
});
