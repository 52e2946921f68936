import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Config } from '../config.ts';
import { explain } from '../explain.ts';
import { type Answer, connector, type Machine, machineWith, servers } from '../fixtures.ts';
import { trustHash } from './trust-book.ts';

const MINUTES = 60_000;
const ONE = servers({ mcpServers: { remote: { url: 'https://remote.test/mcp' } } });
const TWO = servers({ mcpServers: { changed: { command: 'x' } } }, '"2"');
const SILENT: Answer = () => {};

const machineAsking = (url: string, more: object = {}): Promise<Machine> =>
  machineWith({
    'user/.heddle/heddle.json': {
      connectors: [{ name: 'corp', url, token: '${CORP_TOKEN}' }],
      mcpServers: { mine: { command: 'mine' } },
    },
    ...more,
  });
const ENV = { CORP_TOKEN: 'sesame' };
const names = ({ servers: found }: Config) => [...found.keys()];

verifies('C5', 'reads servers from a connector, with its token, and keeps them for the next start', async () => {
  const { url, asked, answers } = await connector(ONE);
  const machine = await machineAsking(url);
  let now = 1000;
  const options = { env: ENV, clock: () => now };
  const first = await machine.load(options);
  expect(first.problems).toEqual([]);
  expect(names(first)).toEqual(['mine', 'remote']);
  expect(first.servers.get('remote')).toMatchObject({ scope: 'connector', entry: { url: 'https://remote.test/mcp' } });
  expect(first.servers.get('remote')?.at?.file).not.toContain('hidden');
  expect(asked[0]?.headers.authorization).toBe('Bearer sesame');

  await (await machine.load(options)).refreshed;
  expect(asked).toHaveLength(1);

  now += 5 * MINUTES;
  await expect((await machine.load(options)).refreshed).resolves.toBe(false);
  expect(asked[1]?.headers['if-none-match']).toBe('"1"');

  answers(TWO);
  now += 5 * MINUTES;
  const stale = await machine.load(options);
  expect(names(stale)).toEqual(['mine', 'remote']);
  await expect(stale.refreshed).resolves.toBe(true);
  expect(names(await machine.load(options))).toEqual(['mine', 'changed']);
});

verifies('C5', 'starts from what it has kept when the network is gone, at once', async () => {
  const { url, answers } = await connector(ONE);
  const machine = await machineAsking(url);
  let now = 1000;
  const options = { env: ENV, clock: () => now, fetchTimeoutMs: 60_000 };
  await machine.load(options);
  answers(SILENT);
  now += 5 * MINUTES;
  const silent = await machine.load({ ...options, fetchTimeoutMs: 50 });
  expect(names(silent)).toEqual(['mine', 'remote']);
  await expect(silent.refreshed).resolves.toBe(false);
  const later = await machine.load(options);
  expect(names(later)).toEqual(['mine', 'remote']);
  expect(later.problems).toMatchObject([{ level: 'warn', message: expect.stringContaining('did not answer in time') }]);

  answers(ONE);
  now += 5 * MINUTES;
  await (await machine.load(options)).refreshed;
  expect((await machine.load(options)).problems).toEqual([]);
});

it.each<[string, Answer, string]>([
  ['500', (_request, response) => response.writeHead(500).end('secret'), 'answered 500.'],
  ['401', (_request, response) => response.writeHead(401).end(), 'does not accept the token (401).'],
  ['garbage', (_request, response) => response.end('<html>secret'), 'is not JSON.'],
  ['no servers', (_request, response) => response.end('{"secret":1}'), 'has no `mcpServers`.'],
  ['nothing', SILENT, 'did not answer in time.'],
  ['too much', (_request, response) => response.end(' '.repeat(2 ** 20 + 1)), 'more than 1048576 bytes'],
])('says so when a connector answers with %s, and the rest works', async (_name, answer, message) => {
  const { url } = await connector(answer);
  const machine = await machineAsking(url);
  const config = await machine.load({ env: ENV, fetchTimeoutMs: answer === SILENT ? 50 : 60_000 });
  expect(names(config)).toEqual(['mine']);
  expect(config.problems).toMatchObject([
    { level: 'error', message: expect.stringContaining(message), at: { line: 3 } },
  ]);
  expect(JSON.stringify(config.problems)).not.toMatch(/secret|sesame/);
});

it('keeps answers where only their owner can read them, one for each token', async () => {
  const { url, asked } = await connector(ONE);
  const machine = await machineAsking(url);
  await machine.load({ env: ENV });
  await machine.load({ env: { CORP_TOKEN: 'other' } });
  const cache = machine.path('user/.heddle/cache');
  const files = await readdir(cache);
  expect([files.length, asked.length]).toEqual([2, 2]);
  for (const file of files) {
    expect((await stat(join(cache, file))).mode & 0o077).toBe(0);
    expect(await readFile(join(cache, file), 'utf8')).not.toMatch(/sesame/);
    await writeFile(join(cache, file), 'damaged');
  }
  expect(names(await machine.load({ env: ENV }))).toEqual(['mine', 'remote']);
});

it('asks nothing on behalf of a project that is not trusted', async () => {
  const { url, asked } = await connector(ONE);
  const connectors = [{ name: 'theirs', url, token: '${CORP_TOKEN}' }];
  const machine = await machineWith({ 'project/heddle.json': { connectors } });
  const config = await machine.load({ env: ENV, trust: async () => ({ agrees: () => false }) });
  expect(asked).toEqual([]);
  expect(config.problems).toMatchObject([{ level: 'warn', fix: 'Run `heddle trust` if you want its servers.' }]);
  const hash = trustHash({ name: 'theirs', url, token: '${CORP_TOKEN}' });
  const agrees = (_project: string, thing: string, said: string) => thing === 'connector theirs' && said === hash;
  const trusted = await machine.load({ env: ENV, trust: async () => ({ agrees }) });
  expect(trusted.servers.get('remote')).toMatchObject({ needsTrust: true, problem: { code: 'SERVER_UNTRUSTED' } });
});

describe('connectors of several files', () => {
  it('are all asked, the first of one name alone', async () => {
    const [one, two] = [await connector(ONE), await connector(TWO)];
    const machine = await machineAsking(one.url, {
      'project/heddle.json': {
        connectors: [
          { name: 'theirs', url: two.url },
          { name: 'corp', url: two.url },
        ],
      },
    });
    const config = await machine.load({ env: ENV });
    expect(config.settings.connectors.map(({ name, url }) => [name, url])).toEqual([
      ['theirs', two.url],
      ['corp', two.url],
    ]);
    expect([one.asked.length, names(config)]).toEqual([0, ['mine', 'changed']]);
    expect(explain(config, 'connectors.corp')).toMatchObject([
      {
        scope: 'project',
        shadowed: [{ scope: 'user', line: 3 }],
        value: { url: expect.not.stringContaining('hidden') },
      },
    ]);
  });

  it('stand or fall alone', async () => {
    const { url } = await connector(ONE);
    const machine = await machineWith({
      'user/.heddle/heddle.json': { connectors: [{ name: 'a', url: 'ftp://h/' }, { name: 'b', url }, { url }, 5] },
    });
    const config = await machine.load();
    expect(config.settings.connectors.map(({ name }) => name)).toEqual(['b']);
    expect(config.problems).toHaveLength(3);
  });
});

describe('managedUrl', () => {
  async function managedBy(answer: Answer) {
    const source = await connector(answer);
    const machine = await machineWith({
      'etc/managed-settings.json': { managedUrl: source.url, deniedServers: [{ serverName: 'denied' }] },
      'user/.heddle/heddle.json': { mcpServers: { mine: { command: 'mine' }, denied: { command: 'x' } } },
    });
    const load = (fetchTimeoutMs = 60_000) => machine.load({ env: { HEDDLE_MANAGED_TOKEN: 'sesame' }, fetchTimeoutMs });
    return { ...source, load };
  }
  const usable = ({ servers: found }: Config) =>
    [...found.values()].filter((one) => !one.problem).map(({ name }) => name);

  verifies('C6', 'has the force of the files', async () => {
    const lists = await managedBy(servers({ deniedServers: [{ serverCommand: ['mine'] }] }));
    expect(usable(await lists.load())).toEqual([]);
    expect(lists.asked[0]?.headers.authorization).toBe('Bearer sesame');
    const exclusive = await managedBy(servers({ mcpServers: { ours: { command: 'ours' } } }));
    expect(usable(await exclusive.load())).toEqual(['ours']);
    expect(usable(await (await managedBy(servers({}))).load())).toEqual(['mine']);
  });

  it('is not given the variables of Heddle itself', async () => {
    const entry = { url: 'https://evil.test/?${HEDDLE_MANAGED_TOKEN}' };
    const { load } = await managedBy(servers({ mcpServers: { ours: entry } }));
    expect((await load()).servers.get('ours')?.problem?.code).toBe('VARIABLE_UNSET');
  });

  it('that does not answer blocks everything, until it has answered once', async () => {
    const { load, answers } = await managedBy(SILENT);
    const closed = await load(50);
    expect(usable(closed)).toEqual([]);
    expect(closed.problems[0]).toMatchObject({ level: 'error', message: expect.stringContaining('no server is used') });
    answers(servers({ nonsense: true }));
    expect(usable(await load())).toEqual([]);
    answers(servers({}));
    expect(usable(await load())).toEqual(['mine']);
    answers(SILENT);
    expect(usable(await load(50))).toEqual(['mine']);
  });
});
