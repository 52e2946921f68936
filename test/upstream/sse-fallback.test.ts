import type { RequestListener } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import type { RemoteEntry } from '../../src/config/schema/schema.ts';
import type { JsonObject } from '../../src/core/call.ts';
import type { Connection, ConnectOptions } from '../../src/upstream/connection.ts';
import { entryOf, HELLO, toolCall } from '../../src/upstream/fixtures.ts';
import { connectHttp } from '../../src/upstream/transports/connect-http.ts';
import { httpPool } from '../../src/upstream/transports/http-pool.ts';
import { verifies } from '../requirements.ts';
import { listen, oldSessionServer, statelessServer } from '../servers/http-servers.ts';
import { sseServer } from '../servers/sse-servers.ts';

async function closing<One extends { close(): Promise<void> }>(opened: Promise<One>): Promise<One> {
  const one = await opened;
  onTestFinished(() => one.close());
  return one;
}

async function connect(url: string, options: Partial<ConnectOptions> = {}): Promise<Connection> {
  const pool = httpPool({});
  onTestFinished(() => pool.close());
  const open = connectHttp(entryOf<RemoteEntry>({ url }), pool);
  const { signal } = new AbortController();
  const capabilities = { form: false, url: false, sampling: false, samplingTools: false, roots: false };
  return closing(
    open({ server: 'demo', signal, known: undefined, capabilities, onNotification: () => {}, ...options }),
  );
}

const serve = (handle: RequestListener) => closing(listen(handle));
/** Starts a server that answers POST and GET with these statuses and bodies. */
const answering = (post: readonly [number, string?], get: readonly [number, string?] = [404]) =>
  serve((request, response) => {
    const [status, body = ''] = request.method === 'POST' ? post : get;
    response.writeHead(status, { 'content-type': body.startsWith('<') ? 'text/html' : 'text/plain' }).end(body);
  });

for (const status of [400, 404, 405]) {
  verifies('C2', `falls back to HTTP+SSE after HTTP ${status}`, async () => {
    const server = await closing(sseServer(undefined, status));
    const connection = await connect(server.url);
    expect(connection.urlTransport).toBe('sse');
    expect(connection.agreement).toMatchObject({ era: 'legacy', serverInfo: { name: 'sdk-1-sse' } });
    const result = await connection.send(toolCall('echo', { text: 'é✓' }));
    expect(result).toMatchObject({ value: { content: [{ type: 'text', text: 'é✓' }] } });
    expect(server.received.slice(0, 3)).toEqual(['POST /mcp', 'POST /mcp', 'GET /mcp']);
  });
}

for (const status of [302, 308, 401, 403, 406, 410, 429, 500, 503]) {
  verifies('C2', `does not try HTTP+SSE after HTTP ${status}`, async () => {
    const server = await answering([status]);
    await expect(connect(server.url)).rejects.toMatchObject({ details: { status } });
    expect(server.requests).not.toContain('GET');
  });
}

verifies('C2', 'does not try HTTP+SSE when nothing listens', async () => {
  const server = await listen(() => {});
  await server.close();
  await expect(connect(server.url)).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
});

verifies('C2', 'does not try HTTP+SSE after a JSON-RPC error with HTTP 400', async () => {
  const server = await serve(async (request, response) => {
    const { id } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as JsonObject;
    const error = { code: -32000, message: 'Not today' };
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
  });
  await expect(connect(server.url)).rejects.toMatchObject({
    code: 'UPSTREAM_REFUSED',
    message: 'demo answered the handshake with an error: Not today.',
  });
  expect(server.requests).not.toContain('GET');
});

verifies('C2', 'does not try HTTP+SSE when the server has accepted `initialize`', async () => {
  const server = await serve(async (request, response) => {
    const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as JsonObject;
    if (method !== 'initialize') return void response.writeHead(400).end();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: HELLO }));
  });
  await expect(connect(server.url)).rejects.toMatchObject({ details: { status: 400 } });
  expect(server.requests).not.toContain('GET');
});

verifies('C2', 'does not try HTTP+SSE for an entry with `protocol: 2026-07-28`', async () => {
  const server = await closing(sseServer());
  await expect(connect(server.url, { protocol: '2026-07-28' })).rejects.toMatchObject({ details: { status: 404 } });
  expect(server.requests).toEqual(['POST']);
});

const PAGE = '<!doctype html><html><head><title>Docs &amp; more</title></head></html>';

const TITLED = 'an HTML page (title “Docs & more”)';

for (const [what, { post, get, posted, got }] of Object.entries({
  'two errors': { post: [405], get: [404], posted: 'HTTP 405', got: 'HTTP 404' },
  texts: { post: [400, 'No session'], get: [406, 'No'], posted: 'HTTP 400: No session', got: 'HTTP 406: No' },
  'HTML pages': {
    post: [404, PAGE],
    get: [200, PAGE],
    posted: `HTTP 404 with ${TITLED}`,
    got: `${TITLED}, no event stream`,
  },
  'a text': { post: [404], get: [200, 'ok'], posted: 'HTTP 404', got: 'HTTP 200 (text/plain), no event stream' },
  'a failing proxy': { post: [404], get: [502, 'Bad'], posted: 'HTTP 404', got: 'HTTP 502: Bad' },
} satisfies Record<string, { post: [number, string?]; get: [number, string?]; posted: string; got: string }>)) {
  verifies('C2', `names both attempts when they get ${what}`, async () => {
    const { url } = await answering(post, get);
    const failure = await connect(url).catch((thrown) => thrown);
    expect(failure).toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'no' });
    expect(failure.message).toBe(`demo speaks neither Streamable HTTP (POST: ${posted}) nor HTTP+SSE (GET: ${got}).`);
    expect(failure.fix).toBe('Check that `url` of demo is the address of its MCP endpoint.');
  });
}

verifies('C2', 'names both attempts when the event stream never names its endpoint', async () => {
  const server = await serve((request, response) => {
    if (request.method === 'POST') response.writeHead(405).end();
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  });
  const failure = await connect(server.url, { timeoutMs: 50 }).catch((thrown) => thrown);
  expect(failure.message).toContain('(POST: HTTP 405) nor HTTP+SSE (GET: no `endpoint` event within 50 ms).');
});

verifies('C2', 'names both attempts when the GET is never answered', async () => {
  const server = await serve((request, response) => {
    if (request.method === 'POST') response.writeHead(404).end();
  });
  const failure = await connect(server.url, { timeoutMs: 50 }).catch((thrown) => thrown);
  expect(failure.message).toContain('(POST: HTTP 404) nor HTTP+SSE (GET: no `endpoint` event within 50 ms).');
});

verifies('C2', 'reports a missing credential of an HTTP+SSE server', async () => {
  const { url } = await answering([405], [401]);
  await expect(connect(url)).rejects.toMatchObject({ code: 'AUTH_NEEDED' });
});

verifies('C2', 'connects a known HTTP+SSE server without a POST to its address', async () => {
  const server = await closing(sseServer());
  const connection = await connect(server.url, { urlTransport: 'sse', known: 'legacy' });
  expect(connection.urlTransport).toBe('sse');
  expect(server.received).not.toContain('POST /mcp');
});

for (const [kind, open, era] of [
  ['modern', statelessServer, 'modern'],
  ['legacy', oldSessionServer, 'legacy'],
] as const) {
  verifies('C2', `connects a known HTTP+SSE server that now speaks Streamable HTTP: ${kind}`, async () => {
    const server = await closing(open());
    const connection = await connect(server.url, { urlTransport: 'sse', known: 'legacy' });
    expect([connection.urlTransport, connection.agreement.era]).toEqual(['http', era]);
  });
}

verifies('C2', 'does not try Streamable HTTP while a known HTTP+SSE server fails with 503', async () => {
  const server = await answering([200], [503]);
  await expect(connect(server.url, { urlTransport: 'sse' })).rejects.toMatchObject({ details: { status: 503 } });
  expect(server.requests).toEqual(['GET']);
});
