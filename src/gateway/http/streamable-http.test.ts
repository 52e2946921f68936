import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { rawClient } from '../../../test/raw-client.ts';
import { verifies } from '../../../test/requirements.ts';
import { recordingServer, text } from '../../../test/servers/recording-server.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { gatewayUnderTest, JSON_HEADERS, modern, openSession } from '../fixtures.ts';

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const deep = `${'['.repeat(200)}${']'.repeat(200)}`;

const BODIES: readonly (readonly [string, string, number, number])[] = [
  ['no bytes', '', 400, -32700],
  ['broken JSON', '{"jsonrpc":"2.0","id":1,', 400, -32700],
  ['two values', '{}{}', 400, -32700],
  ['a repeated key', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', 400, -32700],
  ['a repeated key, once escaped', '{"id":1,"method":"ping","\\u006dethod":"x"}', 400, -32700],
  ['a __proto__ key', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{"x":1}}}', 400, -32700],
  ['deep nesting', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${deep}}}`, 400, -32700],
  ['a batch', `[${JSON.stringify(ping)}]`, 400, -32600],
  ['a string', '"ping"', 400, -32600],
  ['null', 'null', 400, -32600],
  ['no method', '{"jsonrpc":"2.0","id":1}', 400, -32600],
  ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600],
  ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
  ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600],
  ['an id beyond the safe integers', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', 400, -32600],
  ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
  ['parameters in a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', 400, -32600],
  ['no version of JSON-RPC', '{"id":1,"method":"ping"}', 400, -32600],
  ['five megabytes', JSON.stringify({ ...ping, params: { x: 'x'.repeat(5 * 1024 * 1024) } }), 413, -32600],
];

describe('a POST body', () => {
  it.each(BODIES)('P6: with %s is refused', async (_, body, status, code) => {
    const { send } = await gatewayUnderTest();
    const response = await send({ headers: JSON_HEADERS, body });
    expect([response.status, response.json]).toEqual([
      status,
      { jsonrpc: '2.0', id: null, error: { code, message: expect.stringMatching(/\w/) } },
    ]);
    expect((await send({ headers: JSON_HEADERS, body: JSON.stringify(ping) })).status).toBe(200);
  });

  it.each(['text/plain', 'application/jsonx', 'multipart/form-data', ''])('P6: of type %j is refused', async (type) => {
    const { send } = await gatewayUnderTest();
    const response = await send({ headers: { ...JSON_HEADERS, 'content-type': type }, body: JSON.stringify(ping) });
    expect([response.status, (response.json.error as JsonObject).code]).toEqual([415, -32600]);
  });

  verifies('P6', 'with a charset in its content type is accepted', async () => {
    const { send } = await gatewayUnderTest();
    const headers = { ...JSON_HEADERS, 'content-type': 'Application/JSON; charset=utf-8' };
    expect((await send({ headers, body: JSON.stringify(ping) })).status).toBe(200);
  });

  it.each(['PUT', 'PATCH', 'OPTIONS'])('P6: sent with %s is refused', async (method) => {
    const { send } = await gatewayUnderTest();
    const { status, headers } = await send({ method, headers: JSON_HEADERS, body: JSON.stringify(ping) });
    expect([status, headers.allow]).toEqual([405, 'GET, POST, DELETE']);
  });
});

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';

describe('a request with a repeated header', () => {
  const body = JSON.stringify(ping);
  const json = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  const auth = `Authorization: ${JSON_HEADERS.authorization}\r\n`;
  const host = 'Host: localhost\r\n';

  it.each([
    ['POST with two Host headers', `POST /mcp HTTP/1.1\r\n${host}HOST: evil.example\r\n${auth}${json}\r\n${body}`],
    ['POST with two equal Host headers', `POST /mcp HTTP/1.1\r\n${host}${host}${auth}${json}\r\n${body}`],
    ['POST with two credentials', `POST /mcp HTTP/1.1\r\n${host}${auth}authorization: x\r\n${json}\r\n${body}`],
    ['GET with two Host headers', `GET /healthz HTTP/1.1\r\n${host}Host: evil.example\r\n\r\n`],
    ['GET with two credentials', `GET /api/version HTTP/1.1\r\n${host}${auth}Authorization: x\r\n\r\n`],
    ['WebSocket with two credentials', `GET /mcp HTTP/1.1\r\n${host}${UPGRADE}${auth}Authorization: x\r\n\r\n`],
  ])('P6: %s is refused with 400, and its connection is closed', async (_, text) => {
    const { port } = await gatewayUnderTest();
    const client = await rawClient({ port });
    client.socket.write(text);
    const [response, ...more] = await client.ended();
    expect([response?.status, JSON.parse(response?.body ?? ''), more]).toEqual([
      400,
      { error: expect.stringMatching(/^The header (host|authorization) came more than once\.$/) },
      [],
    ]);
  });
});

const list = modern('tools/list');
const callDo = modern('tools/call', { name: 'mcp__up__do' });
const withMeta = (meta: JsonObject): JsonObject => ({ id: 1, method: 'tools/list', params: { _meta: meta } });
const NEWER = {
  ...(list[0].params as { _meta: JsonObject })._meta,
  'io.modelcontextprotocol/protocolVersion': '2099-01-01',
};

const MODERN: readonly (readonly [string, JsonObject, Record<string, string>, number, number])[] = [
  ['whose method header differs', list[0], { ...list[1], 'mcp-method': 'tools/call' }, 400, -32020],
  ['without a method header', list[0], { 'mcp-protocol-version': '2026-07-28' }, 400, -32020],
  ['whose version header differs', list[0], { ...list[1], 'mcp-protocol-version': '2025-11-25' }, 400, -32020],
  ['without a version header', list[0], { 'mcp-method': 'tools/list' }, 400, -32020],
  ['whose name header differs', callDo[0], { ...callDo[1], 'mcp-name': 'mcp__up__other' }, 400, -32020],
  [
    'whose name header decodes to another name',
    callDo[0],
    { ...callDo[1], 'mcp-name': '=?base64?eA==?=' },
    400,
    -32020,
  ],
  ['without an envelope', { id: 1, method: 'tools/list' }, list[1], 400, -32602],
  ['without capabilities', withMeta({ 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }), list[1], 400, -32602],
  ['of an unknown version', withMeta(NEWER), { ...list[1], 'mcp-protocol-version': '2099-01-01' }, 400, -32022],
  ['for an unknown method', ...modern('nope'), 404, -32601],
  ['for a legacy method', ...modern('ping'), 404, -32601],
  ['for a method named like an Object member', ...modern('toString'), 404, -32601],
  ['with a foreign cursor', ...modern('tools/list', { cursor: 'zzz' }), 200, -32602],
  ['with a cursor that is no string', ...modern('tools/list', { cursor: 3 }), 200, -32602],
];

describe('a modern request', () => {
  it.each(MODERN)('P6: %s is refused', async (_, message, headers, status, code) => {
    const { post } = await gatewayUnderTest({ servers: { up: recordingServer({ do: () => text('') }) } });
    const response = await post(message, headers);
    expect([response.status, response.json.id, (response.json.error as JsonObject).code]).toEqual([status, 1, code]);
  });

  verifies('P6', 'of an unknown version gets the supported versions', async () => {
    const { post } = await gatewayUnderTest();
    const { json } = await post(withMeta(NEWER), { ...list[1], 'mcp-protocol-version': '2099-01-01' });
    expect(json.error).toMatchObject({ data: { supported: ['2026-07-28'], requested: '2099-01-01' } });
  });

  verifies('P6', 'may encode Mcp-Name in base64', async () => {
    const { post } = await gatewayUnderTest({ servers: { up: recordingServer({ do: () => text('yes') }) } });
    const name = `=?base64?${Buffer.from('mcp__up__do').toString('base64')}?=`;
    expect((await post(callDo[0], { ...callDo[1], 'mcp-name': name })).json.result).toMatchObject(text('yes'));
  });
});

describe('a legacy request', () => {
  it.each([
    ['for an unknown method', { method: 'nope' }, {}, 200, -32601],
    ['for a modern method', { method: 'server/discover' }, {}, 200, -32601],
    ['of an unknown version', { method: 'ping' }, { 'mcp-protocol-version': '2020-01-01' }, 400, -32600],
    ['of an unknown session', { method: 'ping' }, { 'mcp-session-id': 'unknown' }, 404, -32001],
    ['without a tool name', { method: 'tools/call' }, {}, 200, -32602],
    ['with arguments in a list', { method: 'tools/call', params: { name: 'x', arguments: [] } }, {}, 200, -32602],
  ] as const)('P6: %s is refused', async (_, message, headers, status, code) => {
    const gateway = await gatewayUnderTest();
    const session = await openSession(gateway);
    const response = await gateway.post({ id: 1, ...message }, { ...session, ...headers });
    expect([response.status, (response.json.error as JsonObject).code]).toEqual([status, code]);
  });

  verifies('P6', 'with an id in use is refused, and the first request is answered', async () => {
    const gate = Promise.withResolvers<JsonObject>();
    const server = recordingServer({ wait: () => gate.promise });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const session = await openSession(gateway);
    const call = { id: 7, method: 'tools/call', params: { name: 'mcp__up__wait', arguments: {} } };
    const first = gateway.post(call, session);
    await until('it is called', () => server.calls.length === 1);
    const second = await gateway.post(call, session);
    expect([second.status, (second.json.error as JsonObject).code]).toEqual([400, -32600]);
    gate.resolve(text('first'));
    expect((await first).json).toEqual({ jsonrpc: '2.0', id: 7, result: text('first') });
    expect((await gateway.post({ id: 7, method: 'ping' }, session)).status).toBe(200);
  });

  verifies('P6', 'without an id gets 202 and no body', async () => {
    const { post } = await gatewayUnderTest();
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/nonsense']) {
      expect(await post({ method })).toMatchObject({ status: 202, text: '' });
    }
  });
});

describe('slow and broken clients', () => {
  verifies('P6', 'do not delay other clients', async () => {
    const { port, post } = await gatewayUnderTest();
    const head = 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';
    const auth = `Authorization: ${JSON_HEADERS.authorization}\r\n`;
    const partial = [
      head,
      `${head}${auth}Content-Length: 1000\r\n\r\n{"jsonrpc"`,
      `${head}${auth}\r\n`,
      'nonsense\r\n\r\n',
    ];
    const sockets = Array.from({ length: 100 }, (_, index) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {}).resume();
      socket.write(partial[index % partial.length] as string);
      return socket;
    });
    await Promise.all(sockets.map((socket) => until('it is connected', () => !socket.connecting)));
    expect((await post({ id: 1, method: 'ping' })).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    expect((await post({ id: 1, method: 'ping' })).status).toBe(200);
  });
});
