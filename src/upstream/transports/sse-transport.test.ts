import type { RequestListener, ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type HttpServer, listen } from '../../../test/servers/http-servers.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { Peer } from '../../wire/peer.ts';
import { SseClientTransport, type SseTransportOptions } from './sse-transport.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const STREAM = { 'content-type': 'text/event-stream' };
const event = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`;
type Answer = (message: JsonObject, say: (message: JsonObject) => void, response: ServerResponse) => void;

interface Served extends HttpServer {
  readonly streams: Set<ServerResponse>;
}

/** A server whose GET stream begins with `hello`; `answer` sees each posted message. */
async function serve(hello: string, answer: Answer = () => {}): Promise<Served> {
  const streams = new Set<ServerResponse>();
  const handle: RequestListener = async (request, response) => {
    if (request.method === 'GET') {
      streams.add(response);
      response.on('close', () => streams.delete(response));
      response.writeHead(200, STREAM).write(hello || ': \n\n');
      return;
    }
    const message = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const say = (one: JsonObject) => [...streams].at(-1)?.write(event('message', JSON.stringify(one)));
    answer(message, say, response);
    if (!response.headersSent) response.writeHead(202).end('Accepted');
  };
  const server = await listen(handle);
  closers.push(() => server.close());
  return { ...server, streams };
}

function connect(url: string, options: Partial<SseTransportOptions> = {}) {
  const dispatcher = new Agent();
  closers.push(() => dispatcher.destroy());
  const { signal } = new AbortController();
  const line = new SseClientTransport({ server: 'demo', url: new URL(url), dispatcher, signal, ...options });
  const peer = new Peer(line, { server: 'demo' });
  closers.push(() => peer.close());
  const ask = (method: string) => peer.request(method, {}, { deadlineMs: 120_000 });
  return { line, peer, ask };
}

const HELLO = event('endpoint', '/messages?session=1');
const echo: Answer = ({ id, method }, say) => say({ jsonrpc: '2.0', id, result: { method } });

verifies('T1', 'posts messages where the stream says, and hears the answers on it', async () => {
  const { url } = await serve(HELLO, echo);
  const { peer, ask } = connect(url);
  await peer.start();
  await expect(ask('ping-pong')).resolves.toEqual({ method: 'ping-pong' });
});

verifies('T1', 'reads a stream that drips one byte at a time', async () => {
  const { url, streams } = await serve(HELLO, ({ id }) => {
    const [stream] = streams;
    const bytes = [...Buffer.from(event('message', JSON.stringify({ jsonrpc: '2.0', id, result: { text: 'é✓😀' } })))];
    const drip = () => {
      const byte = bytes.shift();
      if (byte !== undefined) stream?.write(Buffer.from([byte]), () => setImmediate(drip));
    };
    drip();
  });
  const { peer, ask } = connect(url);
  await peer.start();
  await expect(ask('tools/call')).resolves.toEqual({ text: 'é✓😀' });
});

verifies('T5', 'fails its calls at once and closes when the stream ends', async () => {
  const { url, streams, requests } = await serve(HELLO);
  const { line, peer, ask } = connect(url);
  await peer.start();
  const answer = ask('tools/call');
  await until('the call has arrived', () => requests.length === 2);
  for (const stream of streams) stream.end();
  await expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
  await peer.closed;
  expect(line.closeReason()).toBe('It ended its stream.');
});

it('does not open the stream again by itself', async () => {
  const { url, streams, requests } = await serve(HELLO);
  const { peer } = connect(url);
  await peer.start();
  for (const stream of streams) stream.destroy();
  await peer.closed;
  expect(requests).toEqual(['GET']);
});

it.each([
  ['another origin', 'http://127.0.0.1:1/messages', /sent to http:\/\/127\.0\.0\.1:1,/],
  ['another scheme', 'file:///etc/passwd', /not its own origin/],
  ['no address', 'http://[', /no address at all/],
])('sends nothing to an endpoint of %s', async (_, endpoint, message) => {
  const { url, requests } = await serve(event('endpoint', endpoint));
  const { peer } = connect(url, { headers: { authorization: 'Bearer secret' } });
  const failure = await peer.start().catch((thrown) => thrown);
  expect(failure).toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'no' });
  expect(failure.message).toMatch(message);
  await peer.closed;
  expect(requests).toEqual(['GET']);
});

it('names the lost connection when the stream ends before it names an endpoint', async () => {
  const { url, streams } = await serve('');
  const { peer } = connect(url);
  const started = peer.start();
  started.catch(() => {});
  await until('the stream is open', () => streams.size > 0);
  for (const stream of streams) stream.end();
  await expect(started).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    delivered: 'maybe',
    details: { server: 'demo', connectionLost: true },
  });
});

it('keeps to the first endpoint', async () => {
  const { url } = await serve(HELLO + event('endpoint', 'http://127.0.0.1:1/'), echo);
  const { peer, ask } = connect(url);
  await peer.start();
  await expect(ask('x')).resolves.toEqual({ method: 'x' });
});

it('gives up on a server that never names its endpoint, and when it is told to', async () => {
  const { url } = await serve('');
  const { peer } = connect(url, { endpointMs: 20 });
  await expect(peer.start()).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', delivered: 'no' });
  const abort = new AbortController();
  const other = connect(url, { signal: abort.signal }).peer.start();
  abort.abort();
  await expect(other).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});

it.each([
  [401, { code: 'AUTH_NEEDED' }],
  [405, { code: 'UPSTREAM_FAILED', fix: expect.stringContaining('"http"') }],
  [500, { code: 'UPSTREAM_FAILED', details: { status: 500 } }],
  [308, { code: 'UPSTREAM_FAILED', message: expect.stringContaining('https://other.example') }],
])('says why no stream was opened: HTTP %s', async (status, failure) => {
  const server = await listen((_, response) =>
    response.writeHead(status, { location: 'https://other.example/' }).end(),
  );
  closers.push(() => server.close());
  await expect(connect(server.url).peer.start()).rejects.toMatchObject(failure);
});

it('says that an answer is no event stream', async () => {
  const server = await listen((_, response) => response.end('{}'));
  closers.push(() => server.close());
  await expect(connect(server.url).peer.start()).rejects.toMatchObject({
    message: expect.stringMatching(/no.* event/),
  });
});

verifies('T5', 'closes when the server has forgotten the session, and says that nothing happened', async () => {
  const { url } = await serve(HELLO, (_, __, response) => response.writeHead(404).end());
  const { peer, ask } = connect(url);
  await peer.start();
  await expect(ask('tools/call')).rejects.toMatchObject({ delivered: 'no', details: { sessionGone: true } });
  await peer.closed;
});

verifies('F3', 'closes on a message larger than the limit', async () => {
  const big = 'x'.repeat(4096);
  const { url } = await serve(HELLO, ({ id }, say) => say({ jsonrpc: '2.0', id, result: { big } }));
  const { line, peer, ask } = connect(url, { maxMessageBytes: 1024 });
  await peer.start();
  await expect(ask('tools/call')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
  await peer.closed;
  expect(line.closeReason()).toContain('1024 bytes');
});
