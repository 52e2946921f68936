import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Config } from '../config.ts';
import { explain } from '../explain.ts';
import { connector, type Machine, machineWith, type Respond, servers } from '../fixtures.ts';
import { trustHash } from './trust-book.ts';

const MINUTES = 60_000;
const ONE = servers({ mcpServers: { remote: { url: 'https://remote.test/mcp' } } });
const TWO = servers({ mcpServers: { changed: { command: 'x' } } }, '"2"');
const SILENT: Respond = () => {};

const machineWithConnector = (url: string, more: object = {}): Promise<Machine> =>
  machineWith({
    'user/.heddle/heddle.json': {
      connectors: [{ name: 'corp', url, token: '${CORP_TOKEN}' }],
      mcpServers: { mine: { command: 'mine' } },
    },
    ...more,
  });
const ENV = { CORP_TOKEN: 'sesame' };
const names = ({ servers: found }: Config) => [...found.keys()];

verifies('C5', 'fetches servers from a connector with its token, and caches them for the next start', async () => {
  const { url, requests, respondWith } = await connector(ONE);
  const machine = await machineWithConnector(url);
  let now = 1000;
  const options = { env: ENV, clock: () => now };
  const first = await machine.load(options);
  expect(first.problems).toEqual([]);
  expect(names(first)).toEqual(['mine', 'remote']);
  expect(first.servers.get('remote')).toMatchObject({ scope: 'connector', entry: { url: 'https://remote.test/mcp' } });
  expect(first.servers.get('remote')?.at?.file).not.toContain('hidden');
  expect(requests[0]?.headers.authorization).toBe('Bearer sesame');

  await (await machine.load(options)).refreshed;
  expect(requests).toHaveLength(1);

  now += 5 * MINUTES;
  await expect((await machine.load(options)).refreshed).resolves.toBe(false);
  expect(requests[1]?.headers['if-none-match']).toBe('"1"');

  respondWith(TWO);
  now += 5 * MINUTES;
  const stale = await machine.load(options);
  expect(names(stale)).toEqual(['mine', 'remote']);
  await expect(stale.refreshed).resolves.toBe(true);
  expect(names(await machine.load(options))).toEqual(['mine', 'changed']);
});

verifies('C5', 'uses the cached servers at once when the connector does not respond', async () => {
  const { url, respondWith } = await connector(ONE);
  const machine = await machineWithConnector(url);
  let now = 1000;
  const options = { env: ENV, clock: () => now, fetchTimeoutMs: 60_000 };
  await machine.load(options);
  respondWith(SILENT);
  now += 5 * MINUTES;
  const silent = await machine.load({ ...options, fetchTimeoutMs: 50 });
  expect(names(silent)).toEqual(['mine', 'remote']);
  await expect(silent.refreshed).resolves.toBe(false);
  const later = await machine.load(options);
  expect(names(later)).toEqual(['mine', 'remote']);
  expect(later.problems).toMatchObject([{ level: 'warn', message: expect.stringContaining('did not answer in time') }]);

  respondWith(ONE);
  now += 5 * MINUTES;
  await (await machine.load(options)).refreshed;
  expect((await machine.load(options)).problems).toEqual([]);
});

it.each<[string, Respond, string]>([
  ['500', (_request, response) => response.writeHead(500).end('secret'), 'responded with status 500.'],
  ['401', (_request, response) => response.writeHead(401).end(), 'does not accept the token (401).'],
  ['garbage', (_request, response) => response.end('<html>secret'), 'is not JSON.'],
  ['no servers', (_request, response) => response.end('{"secret":1}'), 'has no `mcpServers`.'],
  ['nothing', SILENT, 'did not answer in time.'],
  ['too much', (_request, response) => response.end(' '.repeat(2 ** 20 + 1)), 'more than 1048576 bytes'],
])('reports a connector that responds with %s, and loads the other servers', async (_name, respond, message) => {
  const { url } = await connector(respond);
  const machine = await machineWithConnector(url);
  const config = await machine.load({ env: ENV, fetchTimeoutMs: respond === SILENT ? 50 : 60_000 });
  expect(names(config)).toEqual(['mine']);
  expect(config.problems).toMatchObject([
    { level: 'error', message: expect.stringContaining(message), at: { line: 3 } },
  ]);
  expect(JSON.stringify(config.problems)).not.toMatch(/secret|sesame/);
});

it('caches one response per token, in files with mode 0600', async () => {
  const { url, requests } = await connector(ONE);
  const machine = await machineWithConnector(url);
  await machine.load({ env: ENV });
  await machine.load({ env: { CORP_TOKEN: 'other' } });
  const cache = machine.path('user/.heddle/cache');
  const files = await readdir(cache);
  expect([files.length, requests.length]).toEqual([2, 2]);
  for (const file of files) {
    expect((await stat(join(cache, file))).mode & 0o077).toBe(0);
    expect(await readFile(join(cache, file), 'utf8')).not.toMatch(/sesame/);
    await writeFile(join(cache, file), 'damaged');
  }
  expect(names(await machine.load({ env: ENV }))).toEqual(['mine', 'remote']);
});

it('sends no request to a connector of an untrusted project', async () => {
  const { url, requests } = await connector(ONE);
  const connectors = [{ name: 'theirs', url, token: '${CORP_TOKEN}' }];
  const machine = await machineWith({ 'project/heddle.json': { connectors } });
  const config = await machine.load({ env: ENV, trust: async () => ({ trusts: () => false }) });
  expect(requests).toEqual([]);
  expect(config.problems).toMatchObject([{ level: 'warn', fix: 'Run `heddle trust` if you want its servers.' }]);
  // A server of the user with the same origin would get its token.
  expect(config.settings.connectors).toEqual([]);
  const hash = trustHash({ name: 'theirs', url, token: '${CORP_TOKEN}' });
  const trusts = (_project: string, thing: string, found: string) => thing === 'connector theirs' && found === hash;
  const trusted = await machine.load({ env: ENV, trust: async () => ({ trusts }) });
  expect(trusted.servers.get('remote')).toMatchObject({ needsTrust: true, problem: { code: 'SERVER_UNTRUSTED' } });
  expect(trusted.settings.connectors).toMatchObject([{ name: 'theirs' }]);
});

describe('connectors of several files', () => {
  it('are all fetched, of one name only that of highest precedence', async () => {
    const [one, two] = [await connector(ONE), await connector(TWO)];
    const machine = await machineWithConnector(one.url, {
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
    expect([one.requests.length, names(config)]).toEqual([0, ['mine', 'changed']]);
    expect(explain(config, 'connectors.corp')).toMatchObject([
      {
        scope: 'project',
        shadowed: [{ scope: 'user', line: 3 }],
        value: { url: expect.not.stringContaining('hidden') },
      },
    ]);
  });

  it('are validated one by one: an invalid one does not affect the others', async () => {
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
  async function managedBy(respond: Respond) {
    const source = await connector(respond);
    const machine = await machineWith({
      'etc/managed-settings.json': { managedUrl: source.url, deniedServers: [{ serverName: 'denied' }] },
      'user/.heddle/heddle.json': { mcpServers: { mine: { command: 'mine' }, denied: { command: 'x' } } },
    });
    const load = (fetchTimeoutMs = 60_000) => machine.load({ env: { HEDDLE_MANAGED_TOKEN: 'sesame' }, fetchTimeoutMs });
    return { ...source, load };
  }
  const usable = ({ servers: found }: Config) =>
    [...found.values()].filter((server) => !server.problem).map(({ name }) => name);

  verifies('C6', 'applies lists and servers like the managed files', async () => {
    const lists = await managedBy(servers({ deniedServers: [{ serverCommand: ['mine'] }] }));
    expect(usable(await lists.load())).toEqual([]);
    expect(lists.requests[0]?.headers.authorization).toBe('Bearer sesame');
    const exclusive = await managedBy(servers({ mcpServers: { ours: { command: 'ours' } } }));
    expect(usable(await exclusive.load())).toEqual(['ours']);
    expect(usable(await (await managedBy(servers({}))).load())).toEqual(['mine']);
  });

  it('cannot use the variables HEDDLE_*', async () => {
    const entry = { url: 'https://evil.test/?${HEDDLE_MANAGED_TOKEN}' };
    const { load } = await managedBy(servers({ mcpServers: { ours: entry } }));
    expect((await load()).servers.get('ours')?.problem?.code).toBe('VARIABLE_UNSET');
  });

  it('blocks every server until it has responded once', async () => {
    const { load, respondWith } = await managedBy(SILENT);
    const blocked = await load(50);
    expect(usable(blocked)).toEqual([]);
    expect(blocked.problems[0]).toMatchObject({
      level: 'error',
      message: expect.stringContaining('no server is used'),
    });
    respondWith(servers({ nonsense: true }));
    expect(usable(await load())).toEqual([]);
    respondWith(servers({}));
    expect(usable(await load())).toEqual(['mine']);
    respondWith(SILENT);
    expect(usable(await load(50))).toEqual(['mine']);
  });
});

verifies('C5', 'fetches through the proxy of the given environment, not that of the process', async () => {
  const tunnels: string[] = [];
  const proxy = createServer().on('connect', (request, socket) => {
    tunnels.push(String(request.url));
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  onTestFinished(() => void proxy.close().closeAllConnections());
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const machine = await machineWithConnector('https://servers.test/list');
  const HTTPS_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const config = await machine.load({ env: { ...ENV, HTTPS_PROXY } });
  expect(names(config)).toEqual(['mine']);
  expect(tunnels).toEqual(['servers.test:443']);
});
