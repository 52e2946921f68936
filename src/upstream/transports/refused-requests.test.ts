import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { listen } from '../../../test/servers/http-servers.ts';
import { listenWs } from '../../../test/servers/ws-servers.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { Peer } from '../../wire/peer.ts';
import type { Credential, Refusal } from '../auth/credential.ts';
import { HttpClientTransport } from './http-transport.ts';
import { SseClientTransport } from './sse-transport.ts';
import { WsClientTransport } from './ws-transport.ts';

const MODERN = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
const ERAS = [
  ['legacy', {}],
  ['modern', MODERN],
] as const;

/** A server that accepts one token; `refuse` answers every other request. */
async function serve(refuse: (id: unknown, response: ServerResponse) => void, accepts = 'Bearer new') {
  const seen: [method: string, authorization: string | undefined][] = [];
  const server = await listen(async (request, response) => {
    const { method, id } = await messageOf(request);
    seen.push([method, request.headers.authorization]);
    if (request.headers.authorization !== accepts) return refuse(id, response);
    if (request.method !== 'POST') return response.writeHead(405).end();
    if (id === undefined) return response.writeHead(202).end();
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { done: true } }));
  });
  onTestFinished(() => server.close());
  return { ...server, seen };
}

async function messageOf(request: IncomingMessage): Promise<{ method: string; id?: unknown }> {
  const text = Buffer.concat(await request.toArray()).toString();
  return text === '' ? { method: String(request.method) } : JSON.parse(text);
}

/** A credential whose first token is refused. `renew` decides whether the request is sent once more. */
function tokens(renew: (refusal: Refusal) => boolean | Error = () => true) {
  let token = 'old';
  const refusals: Refusal[] = [];
  const credential: Credential = {
    headersFor: () => ({ authorization: `Bearer ${token}` }),
    async onRefused(refusal) {
      refusals.push(refusal);
      const outcome = renew(refusal);
      if (outcome instanceof Error) throw outcome;
      if (outcome) token = 'new';
      return outcome;
    },
  };
  return { credential, refusals };
}

function connect(url: string, credential?: Credential) {
  const dispatcher = new Agent();
  const transport = new HttpClientTransport({ server: 'demo', url: new URL(url), dispatcher, credential, retryMs: 5 });
  const peer = new Peer(transport, { server: 'demo' });
  onTestFinished(async () => {
    await peer.close();
    await dispatcher.destroy();
  });
  const ask = (params: JsonObject = {}) => peer.request('tools/call', params, { deadlineMs: 120_000 });
  return { peer, transport, ask };
}

const rpcError = (id: unknown) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_001, message: 'no' } });
const CHALLENGES = ['Basic realm="x"', 'Bearer error="insufficient_scope", scope="write"'];

for (const [era, params] of ERAS) {
  verifies('A1', `never takes the body of a 401 as the response of a ${era} request`, async () => {
    const { url } = await serve((id, response) => response.writeHead(401).end(rpcError(id)));
    const failure = { code: 'AUTH_NEEDED', delivered: 'no', details: { status: 401 } };
    await expect(connect(url).ask(params)).rejects.toMatchObject(failure);
  });

  verifies('A1', `never takes the body of a 403 with a challenge as the response of a ${era} request`, async () => {
    const headers = { 'www-authenticate': CHALLENGES };
    const { url } = await serve((id, response) => response.writeHead(403, headers).end(rpcError(id)));
    const failure = { code: 'AUTH_NEEDED', delivered: 'no', details: { status: 403, scopes: ['write'] } };
    await expect(connect(url).ask(params)).rejects.toMatchObject(failure);
  });

  verifies('F4', `takes a 403 without a valid challenge as the response of a ${era} request`, async () => {
    const headers = { 'www-authenticate': 'Bearer scope="open' };
    const { url } = await serve((id, response) => response.writeHead(403, headers).end(rpcError(id)));
    const failure = { toError: expect.any(Function), message: 'no' };
    await expect(connect(url).ask(params)).rejects.toMatchObject(failure);
  });
}

verifies('A4', 'hands a 401 with all its challenges to the credential, and sends the request once more', async () => {
  const headers = { 'www-authenticate': CHALLENGES, 'dpop-nonce': 'n1' };
  const { url, seen } = await serve((_, response) => response.writeHead(401, headers).end());
  const { credential, refusals } = tokens();
  await expect(connect(url, credential).ask()).resolves.toEqual({ done: true });
  expect(seen).toEqual([
    ['tools/call', 'Bearer old'],
    ['tools/call', 'Bearer new'],
  ]);
  expect(refusals).toMatchObject([
    {
      status: 401,
      isRetry: false,
      sent: { authorization: 'Bearer old' },
      headers: { 'dpop-nonce': 'n1' },
      challenges: [
        { scheme: 'basic', params: { realm: 'x' } },
        { scheme: 'bearer', params: { error: 'insufficient_scope', scope: 'write' } },
      ],
    },
  ]);
});

verifies('A4', 'sends a request at most twice, whatever the credential says', async () => {
  const { url, seen } = await serve((_, response) => response.writeHead(401).end(), 'never');
  const { credential, refusals } = tokens();
  await expect(connect(url, credential).ask()).rejects.toMatchObject({ code: 'AUTH_NEEDED', delivered: 'no' });
  expect(seen).toHaveLength(2);
  expect(refusals.map(({ isRetry }) => isRetry)).toEqual([false, true]);
});

verifies('A1', 'reads the status before the body: a 401 with an endless body is a refusal', async () => {
  const { url } = await serve((_, response) => void response.writeHead(401).write('still coming'));
  await expect(connect(url, tokens().credential).ask()).resolves.toEqual({ done: true });
});

it('throws the error of the credential, as one of a request that was not sent', async () => {
  const { url } = await serve((_, response) => response.writeHead(401).end());
  const { credential } = tokens(() => new HeddleError('AUTH_REFUSED', 'The authorization server said no.'));
  await expect(connect(url, credential).ask()).rejects.toMatchObject({ code: 'AUTH_REFUSED' });
});

verifies('A4', 'hands the refusal of a notification and of the GET stream to the credential', async () => {
  const { url, seen } = await serve((_, response) => response.writeHead(401).end());
  const { credential, refusals } = tokens();
  const { peer } = connect(url, credential);
  await peer.notify('notifications/initialized');
  await until('the GET stream was requested', () => seen.length === 3);
  expect(seen).toEqual([
    ['notifications/initialized', 'Bearer old'],
    ['notifications/initialized', 'Bearer new'],
    ['GET', 'Bearer new'],
  ]);
  expect(refusals).toHaveLength(1);
});

it('requests the GET stream no more after its final refusal', async () => {
  let streams = 0;
  const server = await listen((request, response) => {
    if (request.method === 'POST') return response.writeHead(202).end();
    streams++;
    return response.writeHead(401).end();
  });
  onTestFinished(() => server.close());
  const { credential, refusals } = tokens();
  const { peer } = connect(server.url, credential);
  await peer.notify('notifications/initialized');
  await until('both requests were refused', () => refusals.length === 2);
  await peer.notify('notifications/later');
  expect([streams, refusals.map(({ isRetry }) => isRetry)]).toEqual([2, [false, true]]);
});

verifies('A4', 'authorizes the stream and the messages of HTTP+SSE, each sent once more after a 401', async () => {
  const seen: unknown[] = [];
  let accepted = 'Bearer new';
  let say = (_: string) => {};
  const server = await listen(async (request, response) => {
    const { method, id } = await messageOf(request);
    seen.push([method, request.headers.authorization]);
    if (request.headers.authorization !== accepted) return response.writeHead(401).end();
    if (request.method !== 'GET') {
      say(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`);
      return response.writeHead(202).end();
    }
    say = (text) => void response.write(text);
    return response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /post\n\n');
  });
  onTestFinished(() => server.close());
  const dispatcher = new Agent();
  let token = 'old';
  const credential: Credential = {
    headersFor: async () => ({ authorization: `Bearer ${token}` }),
    onRefused: async ({ isRetry }) => {
      token = accepted.slice('Bearer '.length);
      return !isRetry;
    },
  };
  const options = { server: 'demo', url: new URL(server.url), dispatcher, signal: new AbortController().signal };
  const peer = new Peer(new SseClientTransport({ ...options, credential }), { server: 'demo' });
  onTestFinished(async () => {
    await peer.close();
    await dispatcher.destroy();
  });
  await peer.start();
  accepted = 'Bearer newer';
  await expect(peer.request('tools/call', {}, { deadlineMs: 120_000 })).resolves.toEqual({});
  expect(seen).toEqual([
    ['GET', 'Bearer old'],
    ['GET', 'Bearer new'],
    ['tools/call', 'Bearer new'],
    ['tools/call', 'Bearer newer'],
  ]);
});

verifies('A4', 'authorizes each upgrade of a WebSocket, sent once more after a 401', async () => {
  const server = await listenWs(() => {}, {
    verifyClient: ({ req }, verdict) => {
      if (req.headers.authorization === 'Bearer new') verdict(true);
      else verdict(false, 401, 'no', { 'WWW-Authenticate': 'Bearer error="invalid_token"' });
    },
  });
  onTestFinished(() => server.close());
  const { credential, refusals } = tokens();
  const open = async () => {
    const { signal } = new AbortController();
    const transport = new WsClientTransport({ server: 'demo', url: new URL(server.url), signal, credential });
    const peer = new Peer(transport, { server: 'demo' });
    await peer.start();
    await peer.close();
  };
  await open();
  await open();
  expect(refusals).toMatchObject([
    { status: 401, challenges: [{ scheme: 'bearer', params: { error: 'invalid_token' } }] },
  ]);
});

it('fails a WebSocket whose second upgrade is refused, with the error of the credential', async () => {
  const server = await listen((_, response) => response.writeHead(401).end());
  onTestFinished(() => server.close());
  const { credential } = tokens(({ isRetry }) => (isRetry ? new HeddleError('AUTH_REFUSED', 'No.') : true));
  const url = new URL(server.url.replace('http', 'ws'));
  const transport = new WsClientTransport({ server: 'demo', url, signal: new AbortController().signal, credential });
  const peer = new Peer(transport, { server: 'demo' });
  await expect(peer.start()).rejects.toMatchObject({ code: 'AUTH_REFUSED' });
});
