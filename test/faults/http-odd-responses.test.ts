import type { RequestListener, ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { HttpClientTransport } from '../../src/upstream/transports/http-transport.ts';
import { Peer } from '../../src/wire/peer.ts';
import { verifies } from '../requirements.ts';
import { listen } from '../servers/http-servers.ts';
import { until } from '../until.ts';

const STREAM = { 'content-type': 'text/event-stream' };
const NOTE = 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n';
type Post = (message: JsonObject, response: ServerResponse) => void;

async function serve(post: Post, get: RequestListener = (_, response) => response.writeHead(405).end(), retryMs = 5) {
  const server = await listen(async (incoming, response) => {
    if (incoming.method !== 'POST') return get(incoming, response);
    post(JSON.parse(Buffer.concat(await incoming.toArray()).toString()), response);
  });
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const transport = new HttpClientTransport({ server: 'demo', url: new URL(server.url), dispatcher, retryMs });
  const peer = new Peer(transport, { server: 'demo' });
  onTestFinished(async () => {
    await peer.close();
    await dispatcher.destroy();
    await server.close();
  });
  const request = (method: string, deadlineMs = 120_000) => peer.request(method, {}, { deadlineMs });
  return { peer, request };
}

const json = (response: ServerResponse, body: object, status = 200, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const answer: Post = ({ id }, response) => json(response, { jsonrpc: '2.0', id, result: {} });

verifies('T8', 'opens the GET stream once during 100 calls, although the server sends `retry: 0`', async () => {
  let opened = 0;
  const get: RequestListener = (_, response) => {
    opened++;
    response.writeHead(200, STREAM).end(`retry: 0\n${NOTE}`);
  };
  const { peer, request } = await serve(answer, get, 600_000);
  await peer.notify('notifications/initialized');
  await until('a stream was opened', () => opened > 0);
  for (let calls = 0; calls < 100; calls++) await request('tools/call');
  expect(opened).toBe(1);
});

verifies('T8', 'requests the GET stream only once when the response is not an event stream', async () => {
  let gets = 0;
  const { peer, request } = await serve(answer, (_, response) => {
    gets++;
    response.end('<h1>Welcome</h1>');
  });
  await peer.notify('notifications/initialized');
  await until('it was requested', () => gets > 0);
  for (let calls = 0; calls < 100; calls++) await request('tools/call');
  expect(gets).toBe(1);
});

/** Begins a session with a server that answers `tools/call` with HTTP 404 and this error, and nothing else. */
async function serve404(error: JsonObject) {
  const served = await serve(({ id, method }, response) => {
    if (method === 'initialize') json(response, { jsonrpc: '2.0', id, result: {} }, 200, { 'mcp-session-id': 's1' });
    else if (method === 'tools/call') json(response, { jsonrpc: '2.0', id, error }, 404);
  });
  await served.request('initialize');
  return served;
}

verifies('T5', 'takes the JSON-RPC error in a 404 as the response, and keeps the other calls', async () => {
  const { request } = await serve404({ code: -32002, message: 'no such resource' });
  const other = request('resources/read', 1500);
  await expect(request('tools/call')).rejects.toMatchObject({ name: 'RpcError', code: -32002 });
  await expect(other).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' }); // The connection was not lost.
});

verifies('T5', 'recognizes a lost session by code -32001, even in a 404 with the id of the request', async () => {
  const { request } = await serve404({ code: -32001, message: 'Session not found' });
  await expect(request('tools/call')).rejects.toMatchObject({ details: { sessionGone: true } });
});

verifies('F3', 'ignores the JSON-RPC error of an HTTP 400 that is nested too deeply', async () => {
  const data = JSON.parse(`${'['.repeat(1000)}${']'.repeat(1000)}`);
  const { request } = await serve(({ id }, response) =>
    json(response, { jsonrpc: '2.0', id, error: { code: -32000, message: 'no', data } }, 400),
  );
  await expect(request('tools/call')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { status: 400 } });
});
