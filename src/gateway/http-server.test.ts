import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type RawAnswer, rawClient } from '../../test/raw-client.ts';
import { type Behaviour, recordingServer, text } from '../../test/servers/recording-server.ts';
import type { Caller, JsonObject } from '../core/call.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { gatewayUnderTest, JSON_HEADERS, modern } from './fixtures.ts';
import { type HttpServerOptions, httpServer } from './http-server.ts';

type Headers = Readonly<Record<string, string>>;

interface PostOptions {
  readonly path?: string;
  readonly headers?: Headers;
  readonly body?: string;
}

const MAX_BODY_BYTES = 2000;

const TOOLS: Readonly<Record<string, Behaviour>> = {
  do: () => text('naïf'),
  fail: () => ({ ...text('it did not work'), isError: true }),
  throw: () => {
    throw new RpcError(-32000, 'It broke.');
  },
  report(_, { progress }) {
    progress({ progress: 1, total: 2, message: 'naïf' });
    progress({ progress: 2, total: 2 });
    return text('reported');
  },
};

function jsonRpc(message: JsonObject, headers: Headers = {}): PostOptions {
  return { headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) };
}

const callOf = (name: string, more: JsonObject = {}) =>
  jsonRpc(...modern('tools/call', { name: `mcp__up__${name}`, ...more }));
const PING = jsonRpc({ id: 1, method: 'ping' });
const withHeaders = (headers: Headers): PostOptions => ({ ...PING, headers });

const CASES: readonly (readonly [string, PostOptions, number])[] = [
  ['a result', callOf('do'), 200],
  ['a legacy result', PING, 200],
  ['a list', jsonRpc(...modern('tools/list')), 200],
  ['a result that is an error', callOf('fail'), 200],
  ['a server error', callOf('throw'), 200],
  ['an unknown tool', callOf('nothing'), 200],
  ['an unknown method', jsonRpc(...modern('nope')), 404],
  ['a stream with progress', callOf('report', { _meta: { progressToken: 7 } }), 200],
  ['a notification', jsonRpc({ method: 'notifications/initialized' }), 202],
  ['a batch', { body: `[${PING.body}]` }, 400],
  ['no credential', withHeaders({ authorization: '' }), 401],
  ['a wrong credential', withHeaders({ authorization: 'Bearer unknown' }), 401],
  ['a host that is not allowed', withHeaders({ host: 'elsewhere.example' }), 403],
  ['an origin that is not allowed', withHeaders({ origin: 'http://elsewhere.example' }), 403],
  ['an unknown profile', { ...PING, path: '/mcp/unknown' }, 404],
  ['an unknown session', withHeaders({ 'mcp-session-id': 'unknown' }), 404],
  ['an unknown version', withHeaders({ 'mcp-protocol-version': '1999-01-01' }), 400],
  ['a body over the limit', jsonRpc({ id: 1, method: 'ping', params: { x: 'x'.repeat(MAX_BODY_BYTES) } }), 413],
  ['another content type', withHeaders({ 'content-type': 'text/plain' }), 415],
  ['a body that is not JSON', { body: '{"jsonrpc"' }, 400],
  ['no body', { body: '' }, 400],
];

/** Posts over a new connection and returns the response. Waits for the end of a connection that is not kept. */
async function post(port: number, { path = '/mcp', headers = {}, body = '' }: PostOptions) {
  const client = await rawClient({ port });
  const length = String(Buffer.byteLength(body));
  const fields = Object.entries({ host: 'localhost', ...JSON_HEADERS, ...headers, 'content-length': length });
  const lines = fields.map(([name, value]) => `${name}: ${value}`.trimEnd());
  client.socket.write([`POST ${path} HTTP/1.1`, ...lines, '', body].join('\r\n'));
  const [response] = await client.answered(1);
  const isKept = response?.headers.connection === 'keep-alive';
  if (!isKept) await client.ended();
  return response as RawAnswer;
}

/** Returns the parts that must be equal. The fast path may send `content-length` where Node sends chunks. */
function comparable({ status, headers, body }: RawAnswer) {
  const { date, 'content-length': length, 'transfer-encoding': encoding, ...rest } = headers;
  const isStream = headers['content-type'] === 'text/event-stream';
  const framing = isStream ? encoding : Number(length ?? Buffer.byteLength(body));
  return { status, body, framing, isDated: !Number.isNaN(Date.parse(date ?? '')), headers: rest };
}

describe('the fast path and Node give the same response', () => {
  it.each(CASES)('P1: for %s', async (_, options, status) => {
    const servers = { up: recordingServer(TOOLS) };
    const { port } = await gatewayUnderTest({ servers, gateway: { maxBodyBytes: MAX_BODY_BYTES } });
    const fast = await post(port, options);
    const node = await post(port, { ...options, headers: { ...options.headers, te: 'trailers' } });
    expect([fast.way, node.way, fast.status]).toEqual(['plain', 'node', status]);
    expect(comparable(fast)).toEqual(comparable(node));
  });
});

it('the fast path answers a request for /api with 404', async () => {
  const caller: Caller = { id: 'anna', roles: ['owner'], via: 'gateway' };
  const { server } = httpServer({
    admitRequest: () => ({ endpoint: 'api', caller }),
    responses: { add() {} },
    closing: new AbortController().signal,
  } as unknown as HttpServerOptions);
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { status, way } = await post((server.address() as AddressInfo).port, PING);
  expect([way, status]).toEqual(['plain', 404]);
});
