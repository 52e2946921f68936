import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished } from 'vitest';
import { gatewayUnderTest, OWNER, TOKEN } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { BIN, project, SERVERS } from './heddle-command.ts';

type Json = Readonly<Record<string, unknown>>;
type Era = 'legacy' | 'modern';
interface Declared {
  readonly capabilities: Json;
  readonly started: string;
}

const SERVER = { command: process.execPath, args: [join(SERVERS, 'extension-server.mjs')] };
const PROTOCOLS = { legacy: '2025-11-25', modern: '2026-07-28' } as const;
const TASKS = 'io.modelcontextprotocol/tasks';
const MAPS = { 'com.example/maps': { tiles: ['a', { b: 1 }] } };
const UNKNOWN = { 'com.example/unknown': { any: true } };
const EXTENSIONS = { 'com.example/maps': { zoom: 3, layers: ['roads'] }, 'com.example/plain': {} };

async function connect(era: Era, endpoint: { url: string } | typeof SERVER, capabilities: Json): Promise<Client> {
  const pinned = { versionNegotiation: { mode: { pin: PROTOCOLS.modern } } } as const;
  const client = new Client({ name: 'extensions', version: '0' }, { capabilities, ...(era === 'modern' && pinned) });
  const headers = { authorization: `Bearer ${TOKEN}` };
  await client.connect(
    'url' in endpoint
      ? new StreamableHTTPClientTransport(new URL(endpoint.url), { requestInit: { headers } })
      : new StdioClientTransport({ ...endpoint, stderr: 'ignore' }),
  );
  onTestFinished(() => client.close());
  return client;
}

/** Returns the capabilities that the server sees at a call of this client, and the process of the server. */
async function seenBy(client: Client, name: string): Promise<Declared> {
  const { content } = await client.callTool({ name, arguments: {} });
  return JSON.parse((content as readonly { text: string }[])[0]?.text ?? '');
}

/** A gateway before the server, spoken to in one era. The server has been started, so its extensions are known. */
async function gatewayBefore(era: Era, folder?: string) {
  const own = folder === undefined ? {} : { folder };
  const gateway = await gatewayUnderTest({ ...own, servers: { up: { ...SERVER, protocol: PROTOCOLS[era] } } });
  await gateway.heddle.servers.connect(OWNER, 'up', new AbortController().signal);
  return gateway;
}

const through = async (era: Era, url: string, capabilities: Json) =>
  seenBy(await connect(era, { url }, capabilities), 'mcp__up__declared');

/** Removes the tasks extension, which Heddle declares for clients whose tasks it polls itself. */
function withoutTasks({ extensions = {}, ...others }: Json): Json {
  const { [TASKS]: _, ...rest } = extensions as Json;
  return Object.keys(rest).length === 0 ? others : { ...others, extensions: rest };
}

describe.each<[Era, Era]>([
  ['legacy', 'legacy'],
  ['legacy', 'modern'],
  ['modern', 'legacy'],
  ['modern', 'modern'],
])('a %s client of SDK 2.4 before a %s server', (era, serverEra) => {
  verifies('T13', 'has the extensions declared that the server has, with its other capabilities', async () => {
    const { url } = await gatewayBefore(serverEra);
    const direct = async (capabilities: Json) => seenBy(await connect(era, SERVER, capabilities), 'declared');
    for (const capabilities of [{ extensions: MAPS }, { elicitation: { form: {} }, extensions: MAPS }]) {
      const [seen, behind] = [await direct(capabilities), await through(era, url, capabilities)];
      expect(seen.capabilities).toEqual(capabilities);
      expect(withoutTasks(behind.capabilities)).toEqual(seen.capabilities);
    }
    const { capabilities } = await through(era, url, { extensions: { ...MAPS, ...UNKNOWN } });
    expect(withoutTasks(capabilities)).toEqual({ extensions: MAPS });
  });

  verifies('T13', 'sees the extensions of the server, also before the server starts again', async () => {
    const folder = await temporaryFolder();
    const first = await gatewayBefore(serverEra, folder);
    const shown = async (endpoint: { url: string } | typeof SERVER) =>
      (await connect(era, endpoint, {})).getServerCapabilities()?.extensions;
    const tasks = era === 'modern' ? { [TASKS]: {} } : {};
    expect(await shown(SERVER)).toEqual(EXTENSIONS);
    expect(await shown({ url: first.url })).toEqual({ ...tasks, ...EXTENSIONS });
    await first.close();
    const { url, heddle } = await gatewayUnderTest({
      folder,
      servers: { up: { ...SERVER, protocol: PROTOCOLS[serverEra] } },
    });
    expect(await shown({ url })).toEqual({ ...tasks, ...EXTENSIONS });
    expect((await heddle.servers.list(OWNER)).find(({ name }) => name === 'up')?.state).toBe('pending');
  });
});

verifies(
  'T13',
  'starts a process for a client with an extension that a legacy server has, and for no other',
  async () => {
    const { url, heddle } = await gatewayBefore('legacy');
    const plain = await through('legacy', url, {});
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`com.example/e${at}`, {}]));
    let nested: Json = {};
    for (let depth = 0; depth < 60; depth++) nested = { text: 'x'.repeat(17_000), nested };
    const others = [UNKNOWN, many, { 'com.example/maps': nested }];
    for (const era of ['legacy', 'modern'] as const) {
      for (const extensions of others) expect(await through(era, url, { extensions })).toEqual(plain);
    }
    const connections = async () =>
      (await heddle.servers.list(OWNER)).map(({ privateConnections = 0 }) => privateConnections);
    expect((await connections()).every((count) => count === 0)).toBe(true);
    const { started, capabilities } = await through('legacy', url, { extensions: MAPS });
    expect([started === plain.started, capabilities]).toEqual([false, { extensions: MAPS }]);
    expect(Math.max(...(await connections()))).toBe(1);
  },
);

verifies('T13', 'declares every extension of the client of `heddle serve`, on one process', async () => {
  const { folder, env } = project({ '.mcp.json': { mcpServers: { up: { ...SERVER, protocol: PROTOCOLS.legacy } } } });
  const command = { command: process.execPath, args: [BIN, 'serve', '--stdio', '--trust-project'], cwd: folder, env };
  const capabilities = { extensions: { ...MAPS, ...UNKNOWN } };
  const seen = await seenBy(await connect('legacy', command as typeof SERVER, capabilities), 'mcp__up__declared');
  expect(seen.capabilities).toEqual(capabilities);
});
