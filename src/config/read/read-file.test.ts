import { execFileSync } from 'node:child_process';
import { mkdir, truncate } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Problem } from '../config.ts';
import type { Document } from '../document.ts';
import { machineWith } from '../fixtures.ts';
import { MISSING, readConfigFile } from './read-file.ts';

async function read(content: string | Uint8Array) {
  const machine = await machineWith({ 'file.json': content });
  return readConfigFile(machine.path('file.json'));
}

async function documentOf(content: string | Uint8Array): Promise<Document> {
  const reading = await read(content);
  if (reading.state !== 'found') throw new Error(`not found: ${JSON.stringify(reading)}`);
  return reading.document;
}

async function problemOf(content: string | Uint8Array): Promise<Problem> {
  const reading = await read(content);
  if (reading.state !== 'broken') throw new Error(`not broken: ${reading.state}`);
  return reading.problem;
}

verifies('C10', 'reports the line and column of a syntax error', async () => {
  const problem = await problemOf('{\n  "a": 1,\n  "b" 2\n}\n');
  expect(problem).toMatchObject({ level: 'error', code: 'CONFIG_INVALID', at: { line: 3, column: 7 } });
  expect(problem.message).toContain('colon expected');
});

it.each([
  ['nothing', ''],
  ['a list', '[]'],
  ['a string', '"x"'],
  ['text after the object', '{} {}'],
  ['half an object', '{ "a": {'],
])('rejects a file with %s', async (_, content) => {
  expect(await problemOf(content)).toMatchObject({ level: 'error', code: 'CONFIG_INVALID', at: { line: 1 } });
});

it('suggests an object in place of a list', async () => {
  const { fix } = await problemOf('[]');
  expect(fix).toBe('Replace the content of the file by an object, for example `{ "mcpServers": {} }`.');
});

it('reads comments, trailing commas, a byte-order mark and Windows line ends', async () => {
  const document = await documentOf('\uFEFF{ // one\r\n  /* two */ "a": [1, 2,],\r\n  "b": {},\r\n}');
  expect(document.root).toEqual({ a: [1, 2], b: {} });
  expect(document.locate(['b'], 'name')).toMatchObject({ line: 3, column: 3 });
  expect(document.locate(['a', 1])).toMatchObject({ line: 2, column: 22 });
});

it('locates a missing path at its nearest written parent', async () => {
  const document = await documentOf('{\n "a": { "b": 1 } }');
  expect(document.locate(['a', 'c', 'd'])).toMatchObject({ line: 2, column: 7 });
  expect(document.locate(['z'])).toMatchObject({ line: 1, column: 1 });
});

verifies('C5', 'uses the last of two equal names and reports both locations', async () => {
  const document = await documentOf('{\n "a": 1,\n "a": { "x": 2 } }');
  expect(document.root).toEqual({ a: { x: 2 } });
  expect(document.locate(['a', 'x'], 'name')).toMatchObject({ line: 3, column: 9 });
  expect(document.findings).toMatchObject([{ path: ['a'], problem: { level: 'warn', at: { line: 3, column: 2 } } }]);
  expect(document.findings[0]?.problem.message).toMatch(/line 2, column 2 and at line 3, column 2/);
});

it('drops `__proto__` and reports it', async () => {
  const document = await documentOf('{ "a": { "__proto__": { "polluted": true }, "b": 1 } }');
  expect(document.root).toEqual({ a: { b: 1 } });
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect((document.root.a as Record<string, unknown>).polluted).toBeUndefined();
  expect(document.findings).toMatchObject([{ path: ['a', '__proto__'], problem: { level: 'error' } }]);
});

it('rejects a file that is nested too deep, at any depth', async () => {
  expect((await problemOf(`{"a":${'['.repeat(200_000)}`)).message).toMatch(/deeper than 64/);
  const allowed = `{"a":${'['.repeat(63)}${']'.repeat(63)}}`;
  expect((await read(allowed)).state).toBe('found');
  expect((await read(`{"b":"${'{['.repeat(100)}"}`)).state).toBe('found');
});

it('rejects a file of 50 MB without reading it', async () => {
  const machine = await machineWith({ 'file.json': '{}' });
  await truncate(machine.path('file.json'), 50 * 1024 * 1024);
  const reading = await readConfigFile(machine.path('file.json'));
  expect(reading).toMatchObject({ state: 'broken', problem: { message: expect.stringContaining('52428800 bytes') } });
});

it('rejects a folder, a pipe, a path below a file, and bytes that are not UTF-8', async () => {
  const machine = await machineWith({ 'file.json': '{}', 'binary.json': new Uint8Array([0x7b, 0xff, 0x7d]) });
  await mkdir(machine.path('folder.json'));
  execFileSync('mkfifo', [machine.path('pipe.json')]);
  const messageOf = async (name: string): Promise<string> => {
    const reading = await readConfigFile(machine.path(name));
    return reading.state === 'broken' ? reading.problem.message : reading.state;
  };
  expect(await messageOf('folder.json')).toMatch(/is a folder\.$/);
  expect(await messageOf('pipe.json')).toMatch(/is not a regular file\.$/);
  expect(await messageOf('file.json/heddle.json')).toMatch(/cannot be read \(ENOTDIR\)\.$/);
  expect(await messageOf('binary.json')).toMatch(/is not UTF-8 text\.$/);
});

it('treats a missing file as absent', async () => {
  const machine = await machineWith({});
  expect(await readConfigFile(machine.path('none.json'))).toEqual({ state: 'absent', version: MISSING });
});
