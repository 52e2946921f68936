import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { ServerOptions, WebSocket } from 'ws';
import { verifies } from '../../../test/requirements.ts';
import { listen } from '../../../test/servers/http-servers.ts';
import { selfSigned } from '../../../test/servers/self-signed.ts';
import { listenWs, type WsServer } from '../../../test/servers/ws-servers.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { Peer } from '../../wire/peer.ts';
import { WsClientTransport, type WsTransportOptions } from './ws-transport.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Answer = (message: JsonObject, socket: WebSocket) => void;

async function serve(answer: Answer, options: ServerOptions = {}): Promise<WsServer> {
  const server = await listenWs((socket) => {
    socket.on('message', (text) => answer(JSON.parse(String(text)), socket));
  }, options);
  closers.push(() => server.close());
  return server;
}

function connect(url: string, options: Partial<WsTransportOptions> = {}) {
  const { signal } = new AbortController();
  const line = new WsClientTransport({ server: 'demo', url: new URL(url), signal, ...options });
  const troubles: Error[] = [];
  const peer = new Peer(line, { server: 'demo', trouble: (error) => troubles.push(error) });
  closers.push(() => peer.close());
  const ask = (method: string, params: JsonObject = {}) => peer.request(method, params, { deadlineMs: 120_000 });
  return { line, peer, ask, troubles };
}

const echo: Answer = ({ id, method }, socket) =>
  socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: { method } }));

verifies('T1', 'asks for the subprotocol, sends the headers with the upgrade, and carries messages', async () => {
  const { url, upgrades } = await serve(echo);
  const { peer, ask } = connect(url, { headers: { Authorization: 'Bearer t' } });
  await peer.start();
  await expect(Promise.all([ask('one'), ask('two')])).resolves.toEqual([{ method: 'one' }, { method: 'two' }]);
  expect(upgrades).toMatchObject([{ authorization: 'Bearer t', 'sec-websocket-protocol': 'mcp' }]);
  expect(upgrades[0]?.['sec-websocket-extensions']).toBeUndefined();
});

verifies('T5', 'fails its calls at once when the server goes, and closes once', async () => {
  const { url } = await serve((_, socket) => socket.terminate());
  const { line, peer, ask } = connect(url);
  let closings = 0;
  const { onclose } = line;
  line.onclose = () => {
    closings++;
    onclose?.();
  };
  await peer.start();
  await expect(ask('tools/call')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
  await peer.close();
  expect(closings).toBe(1);
  await expect(line.send({})).rejects.toMatchObject({ delivered: 'no' });
});

verifies('T5', 'ends a line whose server no longer answers pings', async () => {
  const { url } = await serve(() => {}, { autoPong: false });
  const { line, peer, ask } = connect(url, { pingMs: 20 });
  await peer.start();
  await expect(ask('tools/call')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
  await peer.closed;
  expect(line.closeReason()).toBe('It did not answer a ping within 20 ms.');
});

it('keeps a silent line whose server answers pings', async () => {
  let pings = 0;
  const server = await listenWs((socket) => {
    socket.on('ping', () => pings++);
    socket.on('message', (text) => echo(JSON.parse(String(text)), socket));
  });
  closers.push(() => server.close());
  const { peer, ask } = connect(server.url, { pingMs: 300 });
  await peer.start();
  await until('some pings came', () => pings >= 2);
  await expect(ask('x')).resolves.toEqual({ method: 'x' });
});

verifies('F3', 'closes on a message larger than the limit, and says so', async () => {
  const { url } = await serve((_, socket) => socket.send('x'.repeat(2000)));
  const { line, peer, ask } = connect(url, { maxMessageBytes: 1024 });
  await peer.start();
  await expect(ask('tools/call')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
  await peer.closed;
  expect(line.closeReason()).toBe('It sent a message of more than 1024 bytes, the limit: raise its `maxMessageBytes`.');
});

verifies('F3', 'passes over what is no message, and goes on', async () => {
  const { url } = await serve((message, socket) => {
    socket.send('{"half');
    socket.send(Buffer.from([1, 2, 3]));
    echo(message, socket);
  });
  const { peer, ask, troubles } = connect(url);
  await peer.start();
  await expect(ask('x')).resolves.toEqual({ method: 'x' });
  expect(troubles).toHaveLength(2);
});

it('refuses to queue for a server that takes nothing, and says that nothing was sent', async () => {
  const server = await listenWs((socket) => socket.pause());
  closers.push(() => server.close());
  const { line, peer } = connect(server.url, { maxQueuedBytes: 1024 * 1024 });
  await peer.start();
  const message = { jsonrpc: '2.0', method: 'notifications/x', params: { text: 'x'.repeat(1024 * 1024) } };
  const sent = Array.from({ length: 40 }, () => line.send(message).catch((thrown) => thrown));
  const last = await sent.at(-1);
  expect(last).toMatchObject({
    code: 'UPSTREAM_FAILED',
    delivered: 'no',
    message: expect.stringContaining('is stuck'),
  });
});

it.each([
  [401, { code: 'AUTH_NEEDED', delivered: 'no', details: { challenge: 'Bearer' } }],
  [302, { code: 'UPSTREAM_FAILED', message: expect.stringContaining('https://other.example') }],
  [200, { code: 'UPSTREAM_FAILED', details: { status: 200 } }],
  [429, { code: 'UPSTREAM_FAILED', delivered: 'no', details: { retryAfterMs: 7000 } }],
])('says why the upgrade was refused: HTTP %s', async (status, failure) => {
  const headers = { location: 'https://other.example/', 'www-authenticate': 'Bearer', 'retry-after': '7' };
  const server = await listen((_, response) => response.writeHead(status, headers).end('no'));
  closers.push(() => server.close());
  await expect(connect(server.url.replace('http', 'ws')).peer.start()).rejects.toMatchObject(failure);
});

it('says that a server does not speak MCP', async () => {
  const { url } = await serve(echo, { handleProtocols: () => false });
  await expect(connect(url).peer.start()).rejects.toMatchObject({
    code: 'UPSTREAM_UNREACHABLE',
    delivered: 'no',
    fix: expect.stringContaining('subprotocol `mcp`'),
  });
});

it('names failures as HTTP does: connection refused and self-signed certificate', async () => {
  const { url, close } = await listenWs(() => {});
  await close();
  const refused = { code: 'UPSTREAM_UNREACHABLE', delivered: 'no', message: expect.stringContaining('ECONNREFUSED') };
  await expect(connect(url).peer.start()).rejects.toMatchObject(refused);

  const secure = createTlsServer(selfSigned());
  const server = await listenWs(() => {}, {}, secure as unknown as ReturnType<typeof createServer>);
  closers.push(() => server.close());
  const { port } = secure.address() as AddressInfo;
  const unsigned = { code: 'UPSTREAM_UNREACHABLE', delivered: 'no', message: expect.stringContaining('self-signed') };
  await expect(connect(`wss://127.0.0.1:${port}/`).peer.start()).rejects.toMatchObject(unsigned);
});

it('gives up when it is told to, before and during the upgrade', async () => {
  const silent = createServer();
  silent.on('upgrade', () => {});
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
  closers.push(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const url = `ws://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  const early = connect(url, { signal: AbortSignal.abort() }).peer.start();
  await expect(early).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  const abort = new AbortController();
  const late = connect(url, { signal: abort.signal }).peer.start();
  setImmediate(() => abort.abort());
  await expect(late).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});
