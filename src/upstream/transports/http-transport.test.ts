import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { listen } from '../../../test/servers/http-servers.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { Peer } from '../../wire/peer.ts';
import { HttpClientTransport, type HttpTransportOptions } from './http-transport.ts';

const ENVELOPE = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const no: RequestListener = (_, response) => response.writeHead(405).end();
type Post = (message: JsonObject, response: ServerResponse, request: IncomingMessage) => void;

/** A real HTTP server; `post` sees each parsed message. Anything else goes to `other`, 405 by default. */
async function serve(post: Post, other: RequestListener = no, options: Partial<HttpTransportOptions> = {}) {
  const server = await listen(async (request, response) => {
    if (request.method !== 'POST') return other(request, response);
    const chunks = await request.toArray();
    post(JSON.parse(Buffer.concat(chunks).toString()), response, request);
  });
  return { ...connect(`${server.url}?tenant=1`, options), server: closing(server) };
}

function closing<T extends { close(): unknown }>(thing: T): T {
  closers.push(() => thing.close());
  return thing;
}

function connect(url: string, options: Partial<HttpTransportOptions> = {}) {
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const line = new HttpClientTransport({ server: 'demo', url: new URL(url), dispatcher, retryMs: 5, ...options });
  const heard: [string, number | undefined][] = [];
  const peer = closing(
    new Peer(line, { server: 'demo', onNotification: (method, _, askedBy) => heard.push([method, askedBy]) }),
  );
  closers.push(() => dispatcher.destroy());
  const ask = (method: string, params: JsonObject = {}) => peer.request(method, params, { deadlineMs: 120_000 });
  return { line, peer, heard, ask };
}

const json = (response: ServerResponse, body: object, status = 200, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const event = (body: object, id?: string) => `${id ? `id: ${id}\n` : ''}data: ${JSON.stringify(body)}\n\n`;
const quietly = { jsonrpc: '2.0', method: 'notifications/message', params: {} };

verifies('T1', 'keeps the session of a legacy server, names the version, and says goodbye', async () => {
  const seen: unknown[] = [];
  const gone = Promise.withResolvers<unknown>();
  const { line, peer, ask } = await serve(
    ({ id, method }, response, { headers, url }) => {
      seen.push([method, headers['mcp-session-id'], headers['mcp-protocol-version'], headers['mcp-method'], url]);
      if (id === undefined) response.writeHead(202).end();
      else json(response, { jsonrpc: '2.0', id, result: {} }, 200, { 'mcp-session-id': 's1' });
    },
    ({ method, headers }, response) => {
      response.writeHead(405).end();
      if (method === 'DELETE') gone.resolve(headers['mcp-session-id']);
    },
  );
  await ask('initialize');
  line.setProtocolVersion('2025-11-25');
  await peer.notify('notifications/initialized');
  await ask('tools/list');
  expect(seen).toEqual([
    ['initialize', undefined, undefined, undefined, '/mcp?tenant=1'],
    ['notifications/initialized', 's1', '2025-11-25', undefined, '/mcp?tenant=1'],
    ['tools/list', 's1', '2025-11-25', undefined, '/mcp?tenant=1'],
  ]);
  await peer.close();
  await expect(gone.promise).resolves.toBe('s1');
});

verifies('T11', 'mirrors a modern message into headers, and takes the error body of a 404 as the answer', async () => {
  const { peer, ask } = await serve(({ id }, response, { headers }) => {
    const { 'mcp-method': method, 'mcp-name': name, 'mcp-protocol-version': version } = headers;
    if (method === 'nope') json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }, 404);
    else json(response, { jsonrpc: '2.0', id, result: { method, name, version } });
  });
  peer.speakModern(ENVELOPE);
  const name = `=?base64?${Buffer.from('scan ✓').toString('base64')}?=`;
  const mirrored = { method: 'tools/call', name, version: '2026-07-28' };
  await expect(ask('tools/call', { name: 'scan ✓' })).resolves.toEqual(mirrored);
  await expect(ask('nope')).rejects.toMatchObject({ name: 'RpcError', code: -32601 });
});

verifies('T1', 'reads an event stream byte by byte and knows whose stream a notification came on', async () => {
  const { heard, ask } = await serve(({ id }, response) => {
    response.writeHead(200, STREAM);
    const text = event(quietly) + event({ jsonrpc: '2.0', id, result: { text: 'é✓😀' } });
    const bytes = [...Buffer.from(text)];
    const next = () => {
      const byte = bytes.shift();
      if (byte === undefined) response.end();
      else response.write(Buffer.from([byte]), () => setImmediate(next));
    };
    next();
  });
  await expect(ask('tools/call')).resolves.toEqual({ text: 'é✓😀' });
  expect(heard).toEqual([['notifications/message', 1]]);
});

verifies('T5', 'fails a call at once when its stream ends without an answer', async () => {
  const { ask } = await serve((_, response) => response.writeHead(200, STREAM).end(': bye\n\n'));
  await expect(ask('tools/call')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
});

it.each([
  ['before the answer begins', (response: ServerResponse) => response.destroy()],
  [
    'in the middle of the body',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
      response.write('{"jsonrpc":"2.0","id":1,"res', () => response.destroy());
    },
  ],
  [
    'in the middle of an event',
    (response: ServerResponse) => {
      response.writeHead(200, STREAM).write('data: {"jsonrpc":"2.0","id":1,', () => response.destroy());
    },
  ],
])('says that a call may have happened when the socket is cut %s', async (_when, cut) => {
  const { ask } = await serve((_, response) => cut(response));
  await expect(ask('tools/call')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
});

it('reports `delivered: no` when the connection is refused', async () => {
  const { server, ask } = await serve(() => {});
  await server.close();
  const failure = {
    code: 'UPSTREAM_UNREACHABLE',
    delivered: 'no',
    message: expect.stringMatching(/^demo cannot be reached: nothing listens on 127\.0\.0\.1:\d+ \(ECONNREFUSED\)\.$/),
  };
  await expect(ask('tools/call')).rejects.toMatchObject({ ...failure, fix: expect.stringContaining('`url` of demo') });
});

it('resumes a broken legacy stream from the last event, and leaves it once it has the answer', async () => {
  let id: unknown;
  const closed = Promise.withResolvers<void>();
  const { line, ask } = await serve(
    (message, response) => {
      id = message.id;
      response.writeHead(200, STREAM).write('id: e7\nretry: 1\ndata:\n\n', () => response.destroy());
    },
    ({ headers }, response) => {
      const result = { resumedFrom: headers['last-event-id'] };
      response.writeHead(200, STREAM).write(event({ jsonrpc: '2.0', id, result }, 'e8'));
      response.once('close', closed.resolve);
    },
  );
  line.setProtocolVersion('2025-11-25');
  await expect(ask('tools/call')).resolves.toEqual({ resumedFrom: 'e7' });
  await closed.promise;
});

verifies('T8', 'hears what a legacy server says unasked, and again after that stream broke', async () => {
  let streams = 0;
  const { line, peer, heard } = await serve(
    (_, response) => response.writeHead(202).end(),
    (_, response) => {
      streams += 1;
      response.writeHead(200, STREAM).write(event(quietly), () => response.destroy());
    },
  );
  line.setProtocolVersion('2025-11-25');
  await peer.notify('notifications/initialized');
  await until('two streams were heard', () => heard.length >= 2);
  expect(streams).toBeGreaterThanOrEqual(2);
  expect(heard[0]).toEqual(['notifications/message', undefined]);
});

verifies('A1', 'says that a credential is wanted, and with which challenge', async () => {
  const { ask } = await serve((_, response) =>
    response.writeHead(401, { 'www-authenticate': 'Bearer scope="x"' }).end('no'),
  );
  const details = { status: 401, challenge: 'Bearer scope="x"' };
  await expect(ask('tools/call')).rejects.toMatchObject({ code: 'AUTH_NEEDED', delivered: 'no', details });
});

// A 303 is what a server says after it has done what was asked.
it.each([
  [302, 'maybe'],
  [303, 'maybe'],
  [307, 'no'],
  [308, 'no'],
] as const)('follows no redirect (%s): the token is not for another address', async (status, delivered) => {
  const { requests, url } = closing(await listen((_, response) => response.end('{}')));
  const { ask } = await serve((_, response) => response.writeHead(status, { location: url }).end());
  await expect(ask('tools/call')).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    delivered,
    details: { status },
  });
  expect(requests).toEqual([]);
});

it.each([
  [404, 'no'],
  [403, 'no'],
  [500, 'maybe'],
  [502, 'maybe'],
  [503, 'maybe'],
] as const)('quotes what came with a %s, and knows that it was delivered: %s', async (status, delivered) => {
  const { ask } = await serve((_, response) =>
    response.writeHead(status, { 'retry-after': '7' }).end(`<h1>\n${'sorry '.repeat(1000)}</h1>`),
  );
  const error = await ask('tools/call').catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'UPSTREAM_FAILED', delivered, details: { status, retryAfter: '7' } });
  expect(error.message).toMatch(new RegExp(`HTTP ${status}: <h1> sorry sorry`));
  expect(error.message.length).toBeLessThan(400);
});

verifies('T6', 'cancels by closing the stream when modern', async () => {
  const [opened, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { peer, server } = await serve((_, response) => {
    response.writeHead(200, STREAM).write(': open\n\n', () => opened.resolve());
    response.once('close', closed.resolve);
  });
  peer.speakModern(ENVELOPE);
  const abort = new AbortController();
  const answer = peer.request('tools/call', {}, { deadlineMs: 120_000, signal: abort.signal });
  await opened.promise;
  abort.abort();
  await expect(answer).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await closed.promise;
  expect(server.requests).toEqual(['POST']);
});

verifies('T6', 'cancels by a message when legacy', async () => {
  const [asked, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()];
  const { peer } = await serve(({ id, params }, response) => {
    if (id === undefined) {
      response.writeHead(202).end();
      cancelled.resolve((params as JsonObject).requestId);
    } else asked.resolve();
  });
  const abort = new AbortController();
  const answer = peer.request('tools/call', {}, { deadlineMs: 120_000, signal: abort.signal });
  await asked.promise;
  abort.abort();
  await expect(answer).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  await expect(cancelled.promise).resolves.toBe(1);
});

it('never sends a call that was cancelled while its headers were being fetched', async () => {
  const sent: unknown[] = [];
  const token = Promise.withResolvers<Record<string, string>>();
  const post: Post = ({ method }, response, { headers }) => {
    sent.push([method, headers.authorization]);
    response.writeHead(202).end();
  };
  const credential = { headersFor: () => token.promise, onRefused: async () => false };
  const { peer } = await serve(post, undefined, { credential });
  await expect(peer.request('tools/call', {}, { deadlineMs: 20 })).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
  const later = peer.notify('notifications/later');
  token.resolve({ authorization: 'Bearer t' });
  await later;
  await until('the cancellation has arrived too', () => sent.length === 2);
  expect(sent).toEqual([
    ['notifications/cancelled', 'Bearer t'],
    ['notifications/later', 'Bearer t'],
  ]);
});

verifies('F3', 'refuses an answer larger than the limit without keeping it', async () => {
  const { ask } = await serve(({ id }, response) =>
    json(response, { jsonrpc: '2.0', id, result: { x: 'y'.repeat(20 * 1024 ** 2) } }),
  );
  await expect(ask('tools/call')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
});
