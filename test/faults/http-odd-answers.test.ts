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
  const server = await listen(async (request, response) => {
    if (request.method !== 'POST') return get(request, response);
    post(JSON.parse(Buffer.concat(await request.toArray()).toString()), response);
  });
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const line = new HttpClientTransport({ server: 'demo', url: new URL(server.url), dispatcher, retryMs });
  const peer = new Peer(line, { server: 'demo' });
  onTestFinished(async () => {
    await peer.close();
    await dispatcher.destroy();
    await server.close();
  });
  const ask = (method: string, deadlineMs = 120_000) => peer.request(method, {}, { deadlineMs });
  return { peer, ask };
}

const json = (response: ServerResponse, body: object, status = 200, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const answer: Post = ({ id }, response) => json(response, { jsonrpc: '2.0', id, result: {} });

verifies('T8', 'does not hurry when a server wants its stream opened again at once', async () => {
  let opened = 0;
  const get: RequestListener = (_, response) => {
    opened++;
    response.writeHead(200, STREAM).end(`retry: 0\n${NOTE}`);
  };
  const { peer, ask } = await serve(answer, get, 600_000);
  await peer.notify('notifications/initialized');
  await until('a stream was opened', () => opened > 0);
  for (let calls = 0; calls < 100; calls++) await ask('tools/call');
  expect(opened).toBe(1);
});

verifies('T8', 'asks no more for a stream where something else is', async () => {
  let asked = 0;
  const { peer, ask } = await serve(answer, (_, response) => {
    asked++;
    response.end('<h1>Welcome</h1>');
  });
  await peer.notify('notifications/initialized');
  await until('it was asked for', () => asked > 0);
  for (let calls = 0; calls < 100; calls++) await ask('tools/call');
  expect(asked).toBe(1);
});

/** Begins a session; a call is then refused with a 404 that carries this error for it, and all else stays unanswered. */
async function refusing(error: JsonObject) {
  const served = await serve(({ id, method }, response) => {
    if (method === 'initialize') json(response, { jsonrpc: '2.0', id, result: {} }, 200, { 'mcp-session-id': 's1' });
    else if (method === 'tools/call') json(response, { jsonrpc: '2.0', id, error }, 404);
  });
  await served.ask('initialize');
  return served;
}

verifies('T5', 'takes a 404 that answers the request as the answer, and leaves other calls alone', async () => {
  const { ask } = await refusing({ code: -32002, message: 'no such resource' });
  const other = ask('resources/read', 1500);
  await expect(ask('tools/call')).rejects.toMatchObject({ name: 'RpcError', code: -32002 });
  await expect(other).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' }); // Not that the line was lost.
});

verifies('T5', 'knows a lost session by its code, even where the 404 answers the request', async () => {
  const { ask } = await refusing({ code: -32001, message: 'Session not found' });
  await expect(ask('tools/call')).rejects.toMatchObject({ details: { sessionGone: true } });
});

verifies('F3', 'takes no answer from a refusal that is nested too deeply', async () => {
  const data = JSON.parse(`${'['.repeat(1000)}${']'.repeat(1000)}`);
  const { ask } = await serve(({ id }, response) =>
    json(response, { jsonrpc: '2.0', id, error: { code: -32000, message: 'no', data } }, 400),
  );
  await expect(ask('tools/call')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { status: 400 } });
});
