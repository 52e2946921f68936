import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/core/call.ts';
import { type GatewayUnderTest, gatewayUnderTest, modern } from '../../src/gateway/fixtures.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { verifies } from '../requirements.ts';
import { recordingServer } from '../servers/recording-server.ts';

const STRANGE: JsonObject = {
  content: [
    { type: 'hologram', rays: [1, 2.5, -0, 1e300], nested: { deep: { deeper: [null, true, 'ü✓\u2028\ud83d\ude00'] } } },
    { type: 'text', text: 'ok', tint: 'blue', _meta: { 'example.com/a': 1 } },
    42,
  ],
  structuredContent: { any: ['thing'] },
  _meta: { 'example.com/trace': { id: 7 } },
  zzz: { later: 'fields' },
};

const call = { id: 1, method: 'tools/call', params: { name: 'mcp__up__do', arguments: {} } };
const callIn = (gateway: GatewayUnderTest, era: string, params: JsonObject = call.params) =>
  era === 'modern' ? gateway.post(...modern('tools/call', params)) : gateway.post({ ...call, params });

describe.each(['legacy', 'modern'])('in the %s era', (era) => {
  const serving = (result: JsonObject) => gatewayUnderTest({ servers: { up: recordingServer({ do: () => result }) } });

  verifies('P1', 'passes unknown fields and content types of a result, and adds nothing', async () => {
    const { json } = await callIn(await serving(STRANGE), era);
    const expected = era === 'modern' ? { resultType: 'complete', ...STRANGE } : STRANGE;
    expect(json).toEqual({ jsonrpc: '2.0', id: 1, result: JSON.parse(JSON.stringify(expected)) });
  });

  verifies('P1', 'removes resultType for a legacy client', async () => {
    const { json } = await callIn(await serving({ resultType: 'complete', content: [] }), era);
    expect(json.result).toEqual(era === 'modern' ? { resultType: 'complete', content: [] } : { content: [] });
  });

  verifies('P1', 'removes reserved keys from `_meta` of a result and passes the others', async () => {
    const reserved = {
      'io.modelcontextprotocol/serverInfo': { name: 'up' },
      'io.modelcontextprotocol/subscriptionId': 7,
    };
    const own = { 'example.com/a': 1, 'io.modelcontextprotocol': 2 };
    const mixed = await callIn(await serving({ content: [], _meta: { ...own, ...reserved } }), era);
    expect((mixed.json.result as JsonObject)._meta).toEqual(own);
    const { json } = await callIn(await serving({ content: [], _meta: reserved }), era);
    expect(json.result).not.toHaveProperty('_meta');
  });

  verifies(
    'P1',
    'wraps structured content that is no object for a legacy client, which would reject the result',
    async () => {
      for (const structuredContent of [[1, 'two'], 'text', 0, null]) {
        const { json } = await callIn(await serving({ content: [], structuredContent }), era);
        const expected = era === 'modern' ? structuredContent : { result: structuredContent };
        expect((json.result as JsonObject).structuredContent).toEqual(expected);
        if (era === 'legacy') expect(CallToolResultSchema.safeParse(json.result).success).toBe(true);
      }
    },
  );

  verifies('P1', 'lists a tool as its server defines it, except for the name', async () => {
    const definition = {
      title: 'Do',
      inputSchema: { type: 'object', 'x-odd': [1] },
      annotations: { readOnlyHint: true, zeal: 9 },
      icons: [{ src: 'data:,' }],
      future: { yes: true },
    };
    const server = recordingServer({ do: () => ({}) }, () => definition);
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const { json } = await (era === 'modern'
      ? gateway.post(...modern('tools/list'))
      : gateway.post({ id: 1, method: 'tools/list' }));
    const { tools, ...rest } = json.result as { tools: JsonObject[] };
    expect(tools).toContainEqual({ ...definition, name: 'mcp__up__do' });
    expect(rest).toEqual(era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {});
  });

  verifies('P1', 'passes unknown parameters to the server, but not those between client and gateway', async () => {
    const server = recordingServer({ do: () => ({}) });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const between = { task: { ttl: 1 }, taskId: 't', inputResponses: {} };
    await callIn(gateway, era, { ...call.params, future: { yes: [1] }, ...between });
    expect(server.calls).toEqual([{ name: 'do', arguments: {}, future: { yes: [1] } }]);
  });

  verifies(
    'P1',
    'passes `_meta` of the client to the server, but not its reserved keys and progress token',
    async () => {
      const server = recordingServer({ do: () => ({}) });
      const gateway = await gatewayUnderTest({ servers: { up: server } });
      const _meta = { 'example.com/tenant': 'a', progressToken: 'mine', 'io.modelcontextprotocol/logLevel': 'debug' };
      await callIn(gateway, era, { ...call.params, _meta });
      const received = server.calls[0]?._meta as JsonObject;
      expect(received).toMatchObject({ 'example.com/tenant': 'a' });
      expect(received.progressToken).not.toBe('mine');
      expect(Object.keys(received).filter((key) => key.startsWith('io.modelcontextprotocol/'))).toEqual([]);
    },
  );
});

const DATA: readonly (Json | undefined)[] = [
  undefined,
  null,
  false,
  0,
  '',
  'text',
  [],
  [1, [2]],
  {},
  { a: { b: null } },
];

describe('the JSON-RPC error of a server', () => {
  it.each(DATA.map((data) => [JSON.stringify(data) ?? 'no data', data] as const))('passes with %s', async (_, data) => {
    const refuse = () => {
      throw new RpcError(-12345, 'Its own message: "ü"\n', data);
    };
    const { post } = await gatewayUnderTest({ servers: { up: recordingServer({ do: refuse }) } });
    const { json, status } = await post(call);
    const error = { code: -12345, message: 'Its own message: "ü"\n', ...(data !== undefined && { data }) };
    expect([status, json]).toEqual([200, { jsonrpc: '2.0', id: 1, error }]);
  });
});

verifies('P6', 'answers an unknown method with 404, and passes the -32601 of a server with 200', async () => {
  const refuse = () => {
    throw new RpcError(-32601, 'Not here');
  };
  const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ do: refuse }) } });
  expect(await callIn(gateway, 'modern')).toMatchObject({ status: 200, json: { error: { code: -32601 } } });
  expect(await gateway.post(...modern('tools/dance'))).toMatchObject({
    status: 404,
    json: { error: { code: -32601 } },
  });
});

describe('a failure of Heddle', () => {
  it.each([
    ['an invalid argument', 'INPUT_INVALID', { name: 'mcp__up__typed', arguments: { n: 'x' } }, {}],
    ['a denied tool', 'NAME_UNKNOWN', { name: 'mcp__up__do' }, { deny: ['mcp__up'] }],
    ['a tool that needs approval', 'APPROVAL_PENDING', { name: 'mcp__up__do' }, { ask: ['mcp__up__do'] }],
  ])('%s is answered with %s', async (_, code, params, permissions) => {
    const schema = { type: 'object', properties: { n: { type: 'number' } } };
    const server = recordingServer({ do: () => ({}), typed: () => ({}) }, () => ({ inputSchema: schema }));
    const { post } = await gatewayUnderTest({
      servers: { up: server },
      config: { permissions, approvals: { keepOpenMs: 0 } },
    });
    const { json, status } = await post({ ...call, params });
    expect(status).toBe(200);
    if (code === 'NAME_UNKNOWN') expect(json.error).toMatchObject({ code: -32602, data: { code } });
    else
      expect(json.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(`[${code}]`) }] });
    expect(server.calls).toEqual([]);
  });

  it('hides the message of an internal error', async () => {
    const { post, heddle } = await gatewayUnderTest({ servers: { up: recordingServer({ do: () => ({}) }) } });
    Object.assign(heddle, { dispatch: () => Promise.reject(new Error('/secret/path exploded')) });
    const { json, text } = await post(call);
    expect(json.error).toMatchObject({ code: -32603, data: { code: 'INTERNAL' } });
    expect(text).not.toContain('/secret');
  });
});
