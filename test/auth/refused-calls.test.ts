import { expect } from 'vitest';
import type { Caller, CatalogKind } from '../../src/core/call.ts';
import type { Heddle } from '../../src/heddle.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';
import { open, owner, START, serve, signIn } from './refusing-server.ts';

const HEADERS = { Authorization: 'Bearer good' };
const MINUTE_MS = 60_000;

/** Opens a server with a static header. `refuse` decides on each call. */
async function opened(refuse: () => boolean) {
  const server = await serve();
  server.isRefused.call = refuse;
  const time = { now: START };
  const { heddle, call } = await open(await temporaryFolder(), { url: server.url, headers: HEADERS }, time);
  const count = (method: string) => server.seen.filter((one) => one.startsWith(method)).length;
  return { ...server, time, heddle, call, calls: () => count('tools/call'), handshakes: () => count('initialize') };
}

async function listed({ catalog, servers }: Heddle) {
  const kinds: readonly CatalogKind[] = ['tool', 'prompt', 'resource'];
  const pages = await Promise.all(kinds.map((kind) => catalog.list(owner, { kind, server: 'up' })));
  const state = (await servers.list(owner)).find(({ name }) => name === 'up')?.state;
  return [state, ...pages.map(({ items }) => items.length)];
}

const refused = { code: 'AUTH_NEEDED', message: 'up refused the credential (HTTP 401).' };
const held = (seconds: number) => ({
  code: 'AUTH_NEEDED',
  message: `${refused.message} It refused several calls in a row and is called again in ${seconds} s.`,
  fix: expect.stringContaining('`Authorization` header in `headers` of up'),
});

verifies('A1', 'fails only the refused calls of a server that refuses every second call for an hour', async () => {
  let sent = 0;
  const { heddle, call, calls, handshakes, time } = await opened(() => sent++ % 2 === 1);
  for (; time.now < START + 60 * MINUTE_MS; time.now += MINUTE_MS) {
    for (let pair = 0; pair < 2; pair++) {
      await expect(call()).resolves.toMatchObject({ kind: 'complete' });
      await expect(call()).rejects.toMatchObject(refused);
      expect(await listed(heddle)).toEqual(['connected', 3, 1, 1]);
    }
  }
  expect([calls(), handshakes()]).toEqual([240, 1]);
});

verifies('A1', 'calls a server that refuses every call again after 5 s, 30 s and 5 min', async () => {
  let refuses = true;
  const { heddle, call, calls, handshakes, time } = await opened(() => refuses);
  await expect(call()).rejects.toMatchObject(refused);
  await expect(call()).rejects.toMatchObject(refused);
  for (const seconds of [5, 30, 300, 300]) {
    const before = calls();
    await expect(call()).rejects.toMatchObject(held(seconds));
    time.now += seconds * 1000 - 1;
    await expect(call()).rejects.toMatchObject(held(1));
    expect(calls()).toBe(before);
    time.now += 1;
    await expect(call()).rejects.toMatchObject(refused);
    expect(calls()).toBe(before + 1);
  }
  expect(await listed(heddle)).toEqual(['connected', 3, 1, 1]);
  refuses = false;
  time.now += 5 * MINUTE_MS;
  await expect(call()).resolves.toMatchObject({ kind: 'complete' });
  refuses = true; // An accepted call has ended the waits.
  await expect(call()).rejects.toMatchObject(refused);
  await expect(call()).rejects.toMatchObject(refused);
  await expect(call()).rejects.toMatchObject(held(5));
  expect(handshakes()).toBe(1);
});

verifies('A1', 'lets no caller who repeats one refused tool make the other tools of the server wait', async () => {
  let refuses = true;
  const { call, calls } = await opened(() => refuses);
  for (let refusals = 0; refusals < 2; refusals++) await expect(call('drop')).rejects.toMatchObject(refused);
  await expect(call('drop')).rejects.toMatchObject(held(5));
  expect(calls()).toBe(2);
  refuses = false;
  await expect(call('act')).resolves.toMatchObject({ kind: 'complete' });
});

verifies('A1', 'sends one call when a wait is over, and counts calls that are refused together once', async () => {
  const { call, calls, time } = await opened(() => true);
  await Promise.allSettled(Array.from({ length: 20 }, () => call()));
  await expect(call()).rejects.toMatchObject(refused);
  time.now += 5000;
  const before = calls();
  const ends = await Promise.allSettled(Array.from({ length: 20 }, () => call()));
  expect(calls()).toBe(before + 1);
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(20);
});

verifies('A1', 'says to a profile whose only server needs a sign-in that it needs one', async () => {
  const { url } = await serve((_, response) => response.writeHead(401).end());
  const profiles = { bare: { servers: ['up'], naming: 'bare' }, full: { servers: ['up'] } };
  const heddle = await temporaryHeddle({ config: { mcpServers: { up: { url } }, profiles } });
  const needed = { code: 'AUTH_NEEDED', message: /^up /, fix: 'Run `heddle auth login up`.' };
  for (const profile of Object.keys(profiles)) {
    const caller: Caller = { id: 'ada', roles: ['user'], via: 'gateway', profile };
    expect((await heddle.catalog.list(caller, {})).items).toEqual([]);
    for (const name of ['act', 'mcp__up__act', 'mcp__other__act']) {
      const described = heddle.catalog.describe(caller, name, new AbortController().signal);
      await expect(described).rejects.toMatchObject({ ...needed, message: expect.stringMatching(needed.message) });
    }
  }
});

verifies('A1', 'calls again at once with a newer credential of another process', async () => {
  const { url, isRefused, seen } = await serve((_, response) => response.writeHead(401).end());
  const folder = await temporaryFolder();
  await signIn(folder, url, START);
  const { call } = await open(folder, { url });
  isRefused.call = () => true;
  for (let refusals = 0; refusals < 2; refusals++) {
    await expect(call()).rejects.toMatchObject({ code: 'AUTH_NEEDED', fix: 'Run `heddle auth login up`.' });
  }
  const before = seen.length;
  await expect(call()).rejects.toMatchObject({ message: expect.stringContaining('is called again in 5 s') });
  expect(seen).toHaveLength(before);
  isRefused.call = () => false;
  await signIn(folder, url, START + 2000);
  await expect(call()).resolves.toMatchObject({ kind: 'complete' });
});
