import type { RequestListener, ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { listen } from '../../../test/servers/http-servers.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { Peer } from '../../wire/peer.ts';
import { HttpExchange } from './http-exchange.ts';
import { keepGetStream, type OpenedStream } from './http-get-stream.ts';
import { HttpClientTransport } from './http-transport.ts';

const STREAM = { 'content-type': 'text/event-stream' };
const respond = (response: ServerResponse, id: unknown, result: JsonObject = {}) =>
  response
    .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's1' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, result }));

interface Posted {
  readonly message: JsonObject;
  readonly response: ServerResponse;
}

/** A legacy session with a server that responds to GET by `get`, and to each POST unless `hold` takes it. */
async function openSession(get: RequestListener, hold: (posted: Posted) => boolean = () => false) {
  const server = await listen(async (request, response) => {
    if (request.method === 'GET') return get(request, response);
    if (request.method === 'DELETE') return response.writeHead(200).end();
    const message = JSON.parse(Buffer.concat(await request.toArray()).toString());
    if (message.id === undefined) response.writeHead(202).end();
    else if (!hold({ message, response })) respond(response, message.id);
  });
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const transport = new HttpClientTransport({ server: 'demo', url: new URL(server.url), dispatcher, retryMs: 5 });
  const received: string[] = [];
  const peer = new Peer(transport, { server: 'demo', onNotification: (method) => received.push(method) });
  onTestFinished(async () => {
    await peer.close();
    await dispatcher.destroy();
    await server.close();
  });
  const request = (method: string) => peer.request(method, {}, { deadlineMs: 120_000 });
  transport.onStreamNotFound = () => void request('ping').catch(() => {});
  await request('initialize');
  transport.setProtocolVersion('2025-11-25');
  await peer.notify('notifications/initialized');
  const gets = () => server.requests.filter((method) => method === 'GET').length;
  let isClosed = false;
  void peer.closed.then(() => (isClosed = true));
  return { transport, peer, request, received, gets, isClosed: () => isClosed };
}

/** Keeps one stream open until `forget`, and responds 404 to every further GET. */
function forgetfulServer() {
  const opened = Promise.withResolvers<ServerResponse>();
  let streams = 0;
  const get: RequestListener = (_, response) => {
    if (streams++ > 0) return response.writeHead(404).end();
    response.writeHead(200, STREAM).write(': open\n\n', () => opened.resolve(response));
  };
  return { get, forget: async () => void (await opened.promise).end() };
}

/** Responds 404 to `ping`, as a server that no longer knows the session does. */
function refusePing({ message, response }: Posted): boolean {
  if (message.method === 'ping') response.writeHead(404).end();
  return message.method === 'ping';
}

verifies('T5', 'closes the connection when its GET stream cannot be opened again: the session is lost', async () => {
  const { get, forget } = forgetfulServer();
  const { transport, peer, gets } = await openSession(get, refusePing);
  await forget();
  await peer.closed;
  expect([transport.closeReason(), gets()]).toEqual(['It no longer knew the session.', 2]);
});

verifies('T5', 'keeps a session in which POST works, though its GET stream cannot be opened again', async () => {
  let pings = 0;
  const { get, forget } = forgetfulServer();
  const { request, gets, isClosed } = await openSession(get, ({ message }) => {
    if (message.method === 'ping') pings++;
    return false;
  });
  await forget();
  await until('two GETs have got 404, and pings were sent', () => gets() >= 3 && pings >= 2);
  await expect(request('tools/list')).resolves.toEqual({});
  expect(isClosed()).toBe(false);
});

verifies('T5', 'lets a request in flight end before the connection of a lost session closes', async () => {
  const held: Posted[] = [];
  const { get, forget } = forgetfulServer();
  const { request, peer, gets, isClosed } = await openSession(get, (posted) => {
    const isHeld = posted.message.method === 'tools/call';
    if (isHeld) held.push(posted);
    return isHeld || refusePing(posted);
  });
  const call = request('tools/call');
  await until('the call has arrived', () => held.length === 1);
  await forget();
  await until('a GET has got 404', () => gets() >= 3);
  expect(isClosed()).toBe(false);
  for (const { response, message } of held) respond(response, message.id, { done: true });
  await expect(call).resolves.toEqual({ done: true });
  await peer.closed;
});

verifies('T5', 'keeps a session whose first GET gets 404: the server has no GET stream', async () => {
  const { request, gets, isClosed } = await openSession((_, response) => response.writeHead(404).end());
  await until('the GET was sent', () => gets() === 1);
  await expect(request('tools/list')).resolves.toEqual({});
  await expect(request('tools/list')).resolves.toEqual({});
  expect([gets(), isClosed()]).toEqual([1, false]);
});

verifies('T5', 'opens the GET stream again after a 429', async () => {
  const note = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  let refused = 0;
  const { received } = await openSession((_, response) => {
    if (refused++ === 0) response.writeHead(429, { 'retry-after': '0' }).end('busy');
    else response.writeHead(200, STREAM).write(`data: ${JSON.stringify(note)}\n\n`);
  });
  await until('a notification is received', () => received.length > 0);
  expect(received).toEqual(['notifications/tools/list_changed']);
});

/** Responds to each GET with the next status, and returns the delays before the GETs after the first one. */
async function delaysAfter(...responses: readonly (readonly [status: number, retryAfter?: string])[]) {
  const closing = new AbortController();
  const rest = [...responses];
  const delays: number[] = [];
  const open = async (): Promise<OpenedStream> => {
    const [status, retryAfter] = rest.shift() ?? [405];
    const stream = new HttpExchange({ server: 'demo', maxMessageBytes: 1000, onMessage() {} });
    return { stream, head: { ok: false, status, headers: { 'retry-after': retryAfter }, text: '' } };
  };
  const wait = async (delayMs: number) => void delays.push(delayMs);
  await keepGetStream({ open, wait, onNotFound() {}, retryMs: 1000, signal: closing.signal });
  return delays;
}

it.each([[408], [425], [429], [500], [503]])('opens the stream again with growing delays after %s', async (status) => {
  const again = Array.from({ length: 7 }, () => [status] as const);
  expect(await delaysAfter(...again)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
});

it.each([[400], [403], [404], [405]])('does not open the stream again after %s', async (status) => {
  expect(await delaysAfter([status], [503])).toEqual([]);
});

verifies('T5', 'waits as long as `Retry-After` says before the next GET, at most a minute', async () => {
  const delays = await delaysAfter([429, '7'], [503, '20'], [429, '0'], [429, '86400'], [429, 'soon']);
  expect(delays).toEqual([7000, 20_000, 4000, 60_000, 16_000]);
});
