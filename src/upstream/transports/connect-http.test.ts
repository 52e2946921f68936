import { afterEach, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import {
  type HttpServer,
  listen,
  oldSessionServer,
  sessionServer,
  statelessServer,
} from '../../../test/servers/http-servers.ts';
import { until } from '../../../test/until.ts';
import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Connection, ConnectOptions } from '../connection.ts';
import { entryOf, toolCall } from '../fixtures.ts';
import { connectHttp } from './connect-http.ts';
import { httpPool } from './http-pool.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function connect(url: string, options: Partial<ConnectOptions> = {}, headers = {}): Promise<Connection> {
  const pool = httpPool();
  closers.push(() => pool.close());
  const open = connectHttp(entryOf<RemoteEntry>({ url, headers }), pool);
  const { signal } = new AbortController();
  const capabilities = { form: false, url: false, sampling: false, samplingTools: false, roots: false };
  const connection = await open({
    server: 'demo',
    signal,
    known: undefined,
    capabilities,
    onNotification: () => {},
    ...options,
  });
  closers.push(() => connection.close());
  return connection;
}

async function started(server: Promise<HttpServer>): Promise<HttpServer> {
  const one = await server;
  closers.push(() => one.close());
  return one;
}

const KINDS = [
  ['SDK 2 without sessions', statelessServer, 'modern', '2026-07-28', 'sdk-2'],
  ['SDK 2 with sessions', sessionServer, 'legacy', '2025-11-25', 'sdk-2'],
  ['SDK 1 with sessions', oldSessionServer, 'legacy', '2025-11-25', 'sdk-1'],
] as const;

for (const [kind, open, era, protocolVersion, name] of KINDS) {
  verifies('T11', `connects and calls a server of ${kind}: ${era}`, async () => {
    const { url } = await started(open());
    const connection = await connect(url);
    expect(connection.agreement).toMatchObject({ era, newest: era, protocolVersion, serverInfo: { name } });
    const tools = await connection.list('tools', new AbortController().signal);
    expect(tools.map((tool) => tool.name)).toEqual(['echo']);
    const result = await connection.send(toolCall('echo', { text: 'é✓' }));
    expect(result).toMatchObject({ kind: 'complete', isError: false, provenance: { server: 'demo', attempts: 1 } });
    expect(result).toMatchObject({ value: { content: [{ type: 'text', text: 'é✓' }] } });
  });

  verifies('T11', `does not probe a server of ${kind} once its era is known`, async () => {
    const { url, requests } = await started(open());
    await connect(url, { known: era });
    expect((await connect(url, { known: era })).agreement).toMatchObject({ era });
    // Modern: discovery and the listening for changes. Legacy: initialize and initialized, and no refused discovery.
    const posts = () => requests.filter((method) => method === 'POST');
    await until('both have said what they have to say', () => posts().length >= 4);
    expect(posts()).toHaveLength(4);
  });
}

verifies('T11', 'speaks the older era with a server of both when that is what it knows', async () => {
  const { url } = await started(statelessServer());
  const connection = await connect(url, { known: 'legacy' });
  expect(connection.agreement).toMatchObject({ era: 'legacy', protocolVersion: '2025-11-25' });
  await expect(connection.send(toolCall('echo', { text: 'x' }))).resolves.toMatchObject({ isError: false });
});

/** Answers everything in a session it knows; `restart` makes it forget them all, as a restart does. */
async function forgetfulServer() {
  let session = 'first';
  const server = await started(
    listen(async (request, response) => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as JsonObject;
      if (method === 'server/discover') return response.writeHead(400).end();
      const unknown = method !== 'initialize' && request.headers['mcp-session-id'] !== session;
      if (unknown) return response.writeHead(404).end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001}}');
      const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {}, content: [] };
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session });
      response.end(id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result }));
    }),
  );
  const restart = () => {
    session = 'second';
  };
  return { ...server, restart };
}

verifies('T5', 'drops the line when the server has forgotten its session, and says that nothing happened', async () => {
  const { url, restart } = await forgetfulServer();
  const connection = await connect(url);
  await expect(connection.send(toolCall('echo'))).resolves.toMatchObject({ kind: 'complete' });
  restart();
  let closed = false;
  void connection.closed.then(() => {
    closed = true;
  });
  const forgotten = { code: 'UPSTREAM_FAILED', delivered: 'no', details: { status: 404, sessionGone: true } };
  const closedFirst = connection.send(toolCall('echo')).finally(() => expect(closed).toBe(true));
  await expect(closedFirst).rejects.toMatchObject(forgotten);
  await expect((await connect(url)).send(toolCall('echo'))).resolves.toMatchObject({ kind: 'complete' });
});

verifies('T5', 'tells a lost session in which a call had succeeded from one without any', async () => {
  const { url, restart } = await forgetfulServer();
  const [used, unused, closed] = [await connect(url), await connect(url), await connect(url)];
  await used.send(toolCall('echo'));
  await unused.list('tools', new AbortController().signal); // The server declares no tools, so no request is sent.
  await closed.close();
  restart();
  for (const one of [used, unused]) await expect(one.send(toolCall('echo'))).rejects.toThrow('the session');
  expect([used, unused, closed].map((one) => one.lostSession())).toEqual(['used', 'unused', undefined]);
});

verifies('A1', 'says that a server wants a credential, and gives it the one that is configured', async () => {
  const { url } = await started(
    listen((request, response) => {
      if (request.headers.authorization !== 'Bearer right') return response.writeHead(401).end();
      request.resume();
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"authorized"}}');
    }),
  );
  await expect(connect(url)).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
  const authorized = connect(url, {}, { Authorization: 'Bearer right' });
  await expect(authorized).rejects.toMatchObject({ details: { status: 404 } }); // It was let in, and is no MCP server.
});

it.each([
  ['is not there', undefined, { code: 'UPSTREAM_UNREACHABLE', delivered: 'no' }],
  ['is no MCP server', 404, { code: 'UPSTREAM_FAILED', details: { status: 404 } }],
  ['sends one elsewhere', 301, { code: 'UPSTREAM_FAILED', details: { status: 301 } }],
  ['is broken', 500, { code: 'UPSTREAM_FAILED', details: { status: 500 } }],
])('fails to connect when the server %s', async (_what, status, failure) => {
  const server = await started(
    listen((_, response) => response.writeHead(status ?? 200, { location: 'http://127.0.0.1:1/' }).end()),
  );
  if (status === undefined) await server.close();
  await expect(connect(server.url)).rejects.toMatchObject(failure);
});

it('gives up on a server that never takes `initialized`', async () => {
  const { url } = await started(
    listen(async (request, response) => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as JsonObject;
      if (method === 'notifications/initialized') return;
      const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    }),
  );
  const abort = new AbortController();
  const connecting = connect(url, { known: 'legacy', signal: abort.signal });
  abort.abort();
  await expect(connecting).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});
