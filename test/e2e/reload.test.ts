import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import type { Problem } from '../../src/config/config.ts';
import { type HeddleClient, openHeddle, text } from '../../src/index.ts';
import { carriersOf } from '../alive.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const SERVER = join(import.meta.dirname, '../servers/pid-server.mjs');
const EDITS = process.env.HEDDLE_TEST_SCALE === 'full' ? 100 : 10;

let folder: string;
let file: string;
let heddle: HeddleClient;
let problems: readonly Problem[];

const entry = (generation: number | string) => ({ command: process.execPath, args: [SERVER, `${generation}`] });
const write = (servers: object) => writeFileSync(file, JSON.stringify({ mcpServers: servers }));
const names = async () => (await heddle.servers.list()).map(({ name }) => name);
const settings = () => ({ cwd: folder, env: { ...process.env, HEDDLE_HOME: join(folder, 'home') } });

/** Returns the id of the answering process, which is different after a restart. */
async function who(server: string, input = {}): Promise<string> {
  const { value } = await heddle.call(`${server}.who`, input);
  return text(value);
}

const runs = (mark: string) => carriersOf(`HEDDLE_LINE=${mark}\0`).length > 0;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-reload-'));
  file = join(folder, 'heddle.json');
  problems = [];
  write({ steady: entry('steady'), changing: entry(0) });
  const onProblems = (found: readonly Problem[]) => {
    problems = found;
  };
  heddle = await openHeddle({ ...settings(), configFile: file, watch: true, onProblems });
});
afterEach(async () => {
  await heddle.close();
  rmSync(folder, { recursive: true, force: true });
});

verifies('C13', 'restarts only the servers that an edit changes, and no call to another server fails', async () => {
  const steady = await who('steady');
  const seen = new Set([await who('changing')]);
  let loading = true;
  let calls = 0;
  const load = (async () => {
    for (; loading; calls++) expect(await who('steady')).toBe(steady);
  })();
  for (let edit = 1; edit <= EDITS; edit++) {
    const before = seen.size;
    // Editors overwrite a file or rename a new one over it.
    const text = JSON.stringify({ mcpServers: { steady: entry('steady'), changing: entry(edit) } });
    if (edit % 2 === 0) writeFileSync(file, text);
    else {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    }
    await until(`edit ${edit} is in force`, async () => seen.add(await who('changing')).size > before);
  }
  loading = false;
  await load;
  expect(calls).toBeGreaterThan(0);
  expect(seen.size).toBe(EDITS + 1);
  await until('no earlier process is left', () => [...seen].filter(runs).length === 1);
});

verifies('C13', 'a call in flight ends on the server where it began', async () => {
  const first = await who('changing');
  const gate = join(folder, 'gate');
  const waiting = who('changing', { after: gate });
  write({ steady: entry('steady'), changing: entry('next') });
  await until('the new process answers', async () => (await who('changing')) !== first);
  expect(runs(first)).toBe(true);
  writeFileSync(gate, '');
  expect(await waiting).toBe(first);
  await until('the old process is gone', () => !runs(first));
});

verifies('C13', 'added and removed servers are announced to clients', async () => {
  const told: string[] = [];
  const ended = new AbortController();
  const listening = (async () => {
    for await (const { kind } of heddle.changes({ signal: ended.signal })) told.push(kind);
  })();
  write({ changing: entry(0), added: entry('added') });
  await until('the new tools are listed', async () => (await names()).includes('added'));
  expect(await names()).not.toContain('steady');
  await expect(who('added')).resolves.toMatch(/./);
  await expect(who('steady')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
  expect(told).toContain('catalog');
  ended.abort();
  await listening;
});

verifies('C13', 'an invalid file keeps the last valid configuration and is reported', async () => {
  const steady = await who('steady');
  writeFileSync(file, '{ "mcpServers": { "ste');
  await until('the problem is reported', () => problems.length > 0);
  expect(problems.map(({ message }) => message).join(' ')).toMatch(/is not valid JSON.*last good configuration/s);
  expect(await who('steady')).toBe(steady);
  write({ steady: entry('steady') });
  await until('the valid file is applied', async () => !(await names()).includes('changing'));
  expect(await who('steady')).toBe(steady);
});

verifies('C13', 'changed permissions apply to later calls', async () => {
  await who('steady');
  const text = { mcpServers: { steady: entry('steady') }, permissions: { deny: ['mcp__steady'] } };
  writeFileSync(file, JSON.stringify(text));
  await until('the call is denied', () =>
    who('steady').then(
      () => false,
      ({ code }) => code === 'NAME_UNKNOWN',
    ),
  );
});
