import { describe, expect, it } from 'vitest';
import { type RawAnswer, rawClient } from '../../test/raw-client.ts';
import { type Behaviour, recordingServer, text } from '../../test/servers/recording-server.ts';
import type { JsonObject } from '../core/call.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { gatewayUnderTest, JSON_HEADERS, modern } from './fixtures.ts';

type Headers = Readonly<Record<string, string>>;

interface Posted {
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
  tell(_, { progress }) {
    progress({ progress: 1, total: 2, message: 'naïf' });
    progress({ progress: 2, total: 2 });
    return text('told');
  },
};

function saying(message: JsonObject, headers: Headers = {}): Posted {
  return { headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) };
}

const calling = (name: string, more: JsonObject = {}) =>
  saying(...modern('tools/call', { name: `mcp__up__${name}`, ...more }));
const PING = saying({ id: 1, method: 'ping' });
const withHeaders = (headers: Headers): Posted => ({ ...PING, headers });

const CASES: readonly (readonly [string, Posted, number])[] = [
  ['a result', calling('do'), 200],
  ['a result of the older protocol', PING, 200],
  ['a list', saying(...modern('tools/list')), 200],
  ['a result that is an error', calling('fail'), 200],
  ['an error of a server', calling('throw'), 200],
  ['an unknown tool', calling('nothing'), 200],
  ['an unknown method', saying(...modern('nope')), 404],
  ['a stream with progress', calling('tell', { _meta: { progressToken: 7 } }), 200],
  ['a notification', saying({ method: 'notifications/initialized' }), 202],
  ['a batch', { body: `[${PING.body}]` }, 400],
  ['no credential', withHeaders({ authorization: '' }), 401],
  ['a wrong credential', withHeaders({ authorization: 'Bearer nobody' }), 401],
  ['a host that is not served', withHeaders({ host: 'elsewhere.example' }), 403],
  ['a page from elsewhere', withHeaders({ origin: 'http://elsewhere.example' }), 403],
  ['an unknown profile', { ...PING, path: '/mcp/nobody' }, 404],
  ['an unknown session', withHeaders({ 'mcp-session-id': 'nobody' }), 404],
  ['an unknown version', withHeaders({ 'mcp-protocol-version': '1999-01-01' }), 400],
  ['a body that is too long', saying({ id: 1, method: 'ping', params: { x: 'x'.repeat(MAX_BODY_BYTES) } }), 413],
  ['a body of another type', withHeaders({ 'content-type': 'text/plain' }), 415],
  ['a body that is no JSON', { body: '{"jsonrpc"' }, 400],
  ['no body', { body: '' }, 400],
];

/** Posts it over a line of its own; gives the answer, and whether another would be served on the same line. */
async function post(port: number, { path = '/mcp', headers = {}, body = '' }: Posted) {
  const client = await rawClient({ port });
  const length = String(Buffer.byteLength(body));
  const fields = Object.entries({ host: 'localhost', ...JSON_HEADERS, ...headers, 'content-length': length });
  const lines = fields.map(([name, value]) => `${name}: ${value}`.trimEnd());
  client.socket.write([`POST ${path} HTTP/1.1`, ...lines, '', body].join('\r\n'));
  const [answer] = await client.answered(1);
  const isKept = answer?.headers.connection === 'keep-alive';
  if (!isKept) await client.ended();
  return answer as RawAnswer;
}

/** What has to be the same. What ends at once may say how long it is, where Node does not know. */
function comparable({ status, headers, body }: RawAnswer) {
  const { date, 'content-length': length, 'transfer-encoding': encoding, ...rest } = headers;
  const isStream = headers['content-type'] === 'text/event-stream';
  const framing = isStream ? encoding : Number(length ?? Buffer.byteLength(body));
  return { status, body, framing, isDated: !Number.isNaN(Date.parse(date ?? '')), headers: rest };
}

describe('a request gets the same answer, read by us or by Node', () => {
  it.each(CASES)('P1: to %s', async (_, posted, status) => {
    const servers = { up: recordingServer(TOOLS) };
    const { port } = await gatewayUnderTest({ servers, gateway: { maxBodyBytes: MAX_BODY_BYTES } });
    const plain = await post(port, posted);
    const node = await post(port, { ...posted, headers: { ...posted.headers, te: 'trailers' } });
    expect([plain.way, node.way, plain.status]).toEqual(['plain', 'node', status]);
    expect(comparable(plain)).toEqual(comparable(node));
  });
});
