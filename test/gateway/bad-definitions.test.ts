import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, OWNER, TOKEN } from '../../src/gateway/fixtures.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';
import { verifies } from '../requirements.ts';
import { text } from '../servers/recording-server.ts';

/** A server that lists these definitions and answers each call with the tool name. */
function listingServer(tools: readonly JsonObject[]) {
  return {
    async connect(transport: ConstructorParameters<typeof Peer>[0]) {
      const peer = new Peer(transport, {
        server: 'Heddle',
        async answer(method, params) {
          const serverInfo = { name: 'bad', version: '1' };
          if (method === 'initialize')
            return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
          if (method === 'tools/list') return { tools } as unknown as JsonObject;
          if (method === 'tools/call') return text(String(params.name));
          throw new RpcError(-32601, `${method} is not here.`);
        },
      });
      await peer.start();
    },
  };
}

const object = { type: 'object' };
const TOOLS: readonly JsonObject[] = [
  { name: 'fine', inputSchema: object },
  { name: 'none' },
  { name: 'anything', inputSchema: true },
  { name: 'tree', inputSchema: { type: 'object', properties: { next: { $ref: '#' } } } },
  { name: 'e\u001b[2Jrase', inputSchema: object, description: 7 },
  { name: 'twice', inputSchema: object, title: 'one' },
  { name: 'twice', inputSchema: object, title: 'other' },
  { name: 'huge', inputSchema: { type: 'object', description: 'x'.repeat(5 * 1024 * 1024) } },
  { name: 'loop', inputSchema: { type: 'object', properties: { a: { $ref: '#/properties/a' } } } },
  { name: 'remote', inputSchema: { type: 'object', properties: { a: { $ref: 'http://127.0.0.1:9/schema' } } } },
  { name: 'text', inputSchema: 'object' },
];
const USABLE = ['fine', 'none', 'anything', 'tree', 'e\u001b[2Jrase'];

async function openGatewayAndClient() {
  const gateway = await gatewayUnderTest({ servers: { bad: listingServer(TOOLS) }, config: { mode: 'open' } });
  const client = new Client({ name: 'strict', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit }) as never);
  onTestFinished(() => client.close());
  const { items } = await gateway.heddle.catalog.list(OWNER, { includeInvalid: true });
  return { gateway, client, targets: items.filter(({ servers }) => servers[0] === 'bad') };
}

verifies('R1', 'shows invalid definitions with the reason, and serves the other tools', async () => {
  const { client, targets } = await openGatewayAndClient();
  const usable = targets.filter(({ invalid }) => invalid === undefined);
  expect(usable.map(({ name }) => name).sort()).toEqual([...USABLE].sort());
  expect(targets).toHaveLength(10);
  const { tools } = await client.listTools();
  const listed = tools.map(({ name }) => name).filter((name) => name.startsWith('mcp__bad__'));
  expect(listed.sort()).toEqual(usable.map(({ publicName }) => publicName).sort());
  for (const { publicName, name } of usable) {
    expect(await client.callTool({ name: publicName, arguments: {} })).toMatchObject(text(name));
  }
});

verifies('R1', 'refuses to call a tool with an invalid definition and gives the reason', async () => {
  const { client, targets } = await openGatewayAndClient();
  const broken = targets.filter(({ invalid }) => invalid !== undefined);
  expect(broken.map(({ name }) => name).sort()).toEqual(['huge', 'loop', 'remote', 'text', 'twice']);
  for (const { publicName, invalid } of broken) {
    const result = await client.callTool({ name: publicName, arguments: {} });
    expect(result.isError).toBe(true);
    expect(result.content).toMatchObject([{ text: expect.stringContaining(String(invalid)) }]);
  }
});

verifies('R1', 'reports a list over the limit in doctor', async () => {
  const tools = Array.from({ length: 10_001 }, (_, index) => ({ name: `t${index}` }));
  const { heddle } = await gatewayUnderTest({ servers: { huge: listingServer(tools) } });
  await heddle.catalog.list(OWNER, { waitMs: 15_000 });
  const findings = await heddle.doctor(OWNER, undefined, new AbortController().signal);
  const message = expect.stringContaining('huge lists 10001 tools');
  expect(findings).toContainEqual({ level: 'warn', subject: 'catalog', message });
});
