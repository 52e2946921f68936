import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, modern } from '../../src/gateway/fixtures.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';
import { until } from '../until.ts';

const LISTS: Record<string, JsonObject> = {
  'tools/list': { tools: [{ name: 'add', inputSchema: { type: 'object' } }] },
  'prompts/list': { prompts: [{ name: 'greet' }] },
  'resources/list': { resources: [{ name: 'one', uri: 'note://one' }] },
  'resources/templates/list': { resourceTemplates: [] },
};

/** Creates a legacy server. After `breakWith` it closes its connections, and one method answers with this error. */
function breakingServer() {
  const peers = new Set<Peer>();
  let broken: { readonly method: string; readonly error: RpcError } | undefined;
  const capabilities = { tools: {}, prompts: {}, resources: {} };
  const initialize = { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'breaking', version: '1' } };
  const server: InProcessServer = {
    async connect(transport) {
      const peer = new Peer(transport, {
        server: 'Heddle',
        onNotification() {},
        async answer(method) {
          if (broken?.method === method) throw broken.error;
          const answer = method === 'initialize' ? initialize : LISTS[method];
          if (!answer) throw new RpcError(-32601, `${method} is not supported.`);
          return answer;
        },
      });
      peers.add(peer);
      await peer.start();
    },
  };
  return {
    server,
    async breakWith(method: string, error: RpcError) {
      broken = { method, error };
      await Promise.all([...peers].map((peer) => peer.close()));
    },
  };
}

const CALLS = [
  ['tools/call', { name: 'mcp__up__add', arguments: {} }],
  ['prompts/get', { name: 'mcp__up__greet', arguments: {} }],
  ['resources/read', { uri: 'note://one' }],
] as const;

it.each([
  ['initialize', -32022, 'answered the handshake with an error: Not this one.'],
  ['initialize', -32603, 'answered the handshake with an error: Not this one.'],
  ['tools/list', -32603, 'answered with an error: Not this one.'],
])(
  'F3: an error response to %s with %i is not the response to the call that connects',
  async (method, code, reason) => {
    const { server, breakWith } = breakingServer();
    const { post, heddle } = await gatewayUnderTest({ servers: { up: server } });
    for (const kind of ['tools', 'prompts', 'resources']) await post(...modern(`${kind}/list`));
    const by = { id: 'owner', roles: ['owner'], via: 'gateway' } as const;
    const stateOf = async () => (await heddle.servers.list(by)).find(({ name }) => name === 'up')?.state;
    await until('the server is connected', async () => (await stateOf()) === 'connected');
    await breakWith(method, new RpcError(code, 'Not this one.'));
    await until('the server is not connected', async () => (await stateOf()) !== 'connected');
    for (const [method, params] of CALLS) {
      const { json } = await post({ id: 1, method, params });
      const text = `up ${reason} `;
      if (method === 'tools/call') {
        const content = [{ type: 'text', text: expect.stringContaining(`[UPSTREAM_REFUSED] ${text}`) }];
        expect(json.result).toMatchObject({ isError: true, content });
      } else {
        const error = { code: -32603, message: expect.stringContaining(text), data: { code: 'UPSTREAM_REFUSED' } };
        expect(json.error).toMatchObject(error);
      }
    }
  },
);
