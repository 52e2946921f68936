import { gzipSync } from 'node:zlib';
import { Agent } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { verifies } from '../../../test/requirements.ts';
import { listen } from '../../../test/servers/http-servers.ts';
import { openWatchdog } from '../../process/watchdog.ts';
import { Peer } from '../../wire/peer.ts';
import type { Transport } from '../../wire/transport.ts';
import { answeredId, quoted } from './bad-message.ts';
import { HttpClientTransport } from './http-transport.ts';
import { SseClientTransport } from './sse-transport.ts';
import { StdioClientTransport } from './stdio-transport.ts';
import { WsClientTransport } from './ws-transport.ts';

const HOUR = { deadlineMs: 3_600_000 };
const server = 'demo';
const deep = (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"a":${'['.repeat(128)}${']'.repeat(128)}}}`;

function peerOn(line: Transport): Peer {
  const peer = new Peer(line, { server });
  onTestFinished(() => peer.close());
  return peer;
}

interface Response {
  readonly body?: string | Buffer;
  readonly status?: number;
  readonly headers?: Record<string, string>;
}

/** A peer whose HTTP server gives every request the same response. */
async function overHttp({ body, status = 200, headers = {} }: Response, maxMessageBytes?: number): Promise<Peer> {
  const http = await listen(async (request, response) => {
    await request.toArray();
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  });
  const dispatcher = new Agent();
  onTestFinished(async () => {
    await dispatcher.destroy();
    await http.close();
  });
  return peerOn(
    new HttpClientTransport({
      server,
      url: new URL(http.url),
      dispatcher,
      ...(maxMessageBytes && { maxMessageBytes }),
    }),
  );
}

const stream = { 'content-type': 'text/event-stream' };
const html = { 'content-type': 'text/html; charset=utf-8' };
const responses: [string, Response, string][] = [
  ['broken JSON', { body: '{"jsonrpc":"2.0","id":1,"result":{' }, 'HTTP 200 (application/json) with something other'],
  ['an HTML page', { body: '<!DOCTYPE html>\n<h1>Login</h1>', headers: html }, 'HTTP 200 with an HTML page, not MCP.'],
  ['a titled page', { body: '<html><title>Log in</title>', headers: html }, 'an HTML page (title “Log in”), not MCP.'],
  ['HTTP 204', { status: 204 }, 'demo answered HTTP 204 without a response.'],
  ['HTTP 202', { status: 202 }, 'demo answered HTTP 202 without a response.'],
  ['an empty body', { body: '' }, 'demo answered HTTP 200 without a response.'],
  ['another id', { body: '{"jsonrpc":"2.0","id":99,"result":{}}' }, 'demo answered request 1 with the id 99.'],
  ['the id null', { body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}' }, 'with the id null.'],
  ['gzip', { body: gzipSync('{}'), headers: { 'content-encoding': 'gzip' } }, '(application/json, gzip)'],
  ['too many levels', { body: deep(1) }, 'it is nested deeper than 128 levels.'],
  ['an empty event stream', { body: ': hi\n\n', headers: stream }, 'ended its event stream without a response.'],
  ['a broken event', { body: 'data: {"jsonrpc"\n\n', headers: stream }, 'HTTP 200 (text/event-stream)'],
  ['an event of too many levels', { body: `data: ${deep(1)}\n\n`, headers: stream }, 'deeper than 128 levels.'],
];

for (const [name, response, found] of responses) {
  verifies('F3', `an HTTP response with ${name} fails the call at once and is named in the error`, async () => {
    const peer = await overHttp(response);
    await expect(peer.request('tools/call', {}, HOUR)).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      delivered: 'maybe',
      message: expect.stringContaining(found),
    });
  });
}

verifies('F3', 'an HTTP response over the limit is named with its size, the limit and the setting', async () => {
  const body = `{"jsonrpc":"2.0","id":1,"result":{"a":"${'x'.repeat(2000)}"}}`;
  const known = await overHttp({ body, headers: { 'content-length': String(body.length) } }, 1000);
  await expect(known.request('tools/call', {}, HOUR)).rejects.toMatchObject({
    message: `demo sent a message of ${body.length} bytes; 1000 is the limit.`,
    fix: 'Ask for less, or raise `maxMessageBytes` of demo.',
  });
  const streamed = await overHttp({ body: `data: ${body}\n\n`, headers: stream }, 1000);
  await expect(streamed.request('tools/call', {}, HOUR)).rejects.toMatchObject({
    message: 'demo sent a message of more than 1000 bytes, which is the limit.',
    fix: 'Ask for less, or raise `maxMessageBytes` of demo.',
  });
});

verifies('F3', 'a response nested too deep over stdio fails its call at once', async () => {
  const watchdog = await openWatchdog();
  onTestFinished(() => watchdog.close());
  const script = `process.stdin.on('data', () => process.stdout.write(${JSON.stringify(`${deep(1)}\n`)}))`;
  const { PATH = '' } = process.env;
  const line = new StdioClientTransport({
    server,
    watchdog,
    command: process.execPath,
    args: ['-e', script],
    env: { PATH },
  });
  const peer = peerOn(line);
  await peer.start();
  await expect(peer.request('tools/call', {}, HOUR)).rejects.toThrow('nested deeper than 128 levels');
});

verifies('F3', 'a response nested too deep over WebSocket fails its call at once', async () => {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => sockets.close());
  sockets.on('connection', (socket) => socket.on('message', () => socket.send(deep(1))));
  await new Promise((resolve) => sockets.once('listening', resolve));
  const { port } = sockets.address() as { port: number };
  const peer = peerOn(
    new WsClientTransport({ server, url: new URL(`ws://127.0.0.1:${port}`), signal: new AbortController().signal }),
  );
  await peer.start();
  await expect(peer.request('tools/call', {}, HOUR)).rejects.toThrow('nested deeper than 128 levels');
});

verifies('F3', 'a response nested too deep over HTTP+SSE fails its call at once', async () => {
  const events = Promise.withResolvers<(text: string) => void>();
  const http = await listen(async (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, stream).write('event: endpoint\ndata: /post\n\n');
      events.resolve((text) => response.write(`data: ${text}\n\n`));
      return;
    }
    await request.toArray();
    response.writeHead(202).end();
    (await events.promise)(deep(1));
  });
  const dispatcher = new Agent();
  onTestFinished(async () => {
    await dispatcher.destroy();
    await http.close();
  });
  const { signal } = new AbortController();
  const peer = peerOn(new SseClientTransport({ server, url: new URL(http.url), dispatcher, signal }));
  await peer.start();
  await expect(peer.request('tools/call', {}, HOUR)).rejects.toThrow('nested deeper than 128 levels');
});

it('takes the id of a response only, never that of a request or a notification', () => {
  expect(answeredId('{"jsonrpc":"2.0","id":3,"result":{')).toBe(3);
  expect(answeredId(' { "id" : 3 , "jsonrpc":"2.0", "error": {')).toBe(3);
  expect(answeredId('{"result":{"id":9},"jsonrpc":"2.0","id":4}')).toBe(4);
  expect(answeredId('{"jsonrpc":"2.0","result":{"a":1', ',"id":5}')).toBe(5);
  expect(answeredId('{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{')).toBeUndefined();
  expect(answeredId('{"jsonrpc":"2.0","method":"x","params":{},"id":3}')).toBeUndefined();
  expect(answeredId('Listening on {"id":3}')).toBeUndefined();
});

verifies('F3', 'quotes the reason after many empty lines', () => {
  expect(quoted(`${'\n'.repeat(650)}Error: quota`)).toBe('Error: quota');
  expect(quoted(`Error:${' '.repeat(1000)}quota\u0000 `)).toBe('Error: quota');
  expect(quoted('a'.repeat(5000))).toBe('a'.repeat(300));
});

verifies('F3', 'quotes no secret that is cut where the search for secrets ends', () => {
  const jwt = (chars: number) => `eyJ${'a'.repeat(300)}.${'b'.repeat(chars - 307)}.c`;
  for (const end of [600, 4096]) {
    for (let chars = end - 60; chars < end; chars++) {
      expect(quoted(`${jwt(chars)} sk-ant-REALKEY1234567890abcdef`)).not.toMatch(/REAL|sk-/);
      expect(quoted(`${jwt(chars)} postgres://ada:hunter2hunter2@db/shop`)).not.toContain('hunter');
    }
  }
});
