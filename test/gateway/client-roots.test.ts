import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../src/core/call.ts';
import { type GatewayUnderTest, gatewayUnderTest, OWNER, TOKEN } from '../../src/gateway/fixtures.ts';
import { parseClientCapabilities } from '../../src/gateway/methods/client-capabilities.ts';
import { serveStdio } from '../../src/gateway/transports/serve-stdio.ts';
import type { Heddle } from '../../src/heddle.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';
import type { Transport } from '../../src/wire/transport.ts';
import { verifies } from '../requirements.ts';
import { transportOf } from '../servers/ws-servers.ts';
import { temporaryHeddle } from '../temporary-heddle.ts';
import { until } from '../until.ts';

type SdkTransport = Parameters<Client['connect']>[0];

const CHANGED = 'notifications/roots/list_changed';
const ANNOUNCING = { roots: { listChanged: true } };
const WHERE = { name: 'mcp__up__where', arguments: {} };

/** A connection as the server has seen it. */
interface SeenConnection {
  readonly declared: JsonObject;
  changes: number;
}

/** A legacy server in this process. Its tool `where` returns the roots that it requests during the call. */
function rootsServer(): InProcessServer & { readonly seen: SeenConnection[] } {
  const seen: SeenConnection[] = [];
  return {
    seen,
    async connect(transport) {
      let connection: SeenConnection = { declared: {}, changes: 0 };
      const peer: Peer = new Peer(transport as unknown as Transport, {
        server: 'Heddle',
        onNotification(method) {
          if (method === CHANGED) connection.changes++;
        },
        async answer(method, params) {
          if (method === 'initialize') {
            connection = { declared: params.capabilities as JsonObject, changes: 0 };
            seen.push(connection);
            const { protocolVersion } = params;
            return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'roots', version: '1' } };
          }
          if (method === 'tools/list') return { tools: [{ name: 'where', inputSchema: { type: 'object' } }] };
          if (method !== 'tools/call') throw new RpcError(-32601, `${method} is not supported.`);
          if (!connection.declared.roots) return { content: [] };
          const { roots } = await peer.request('roots/list', {}, { deadlineMs: 60_000 });
          return { content: [{ type: 'text', text: JSON.stringify(roots) }] };
        },
      });
      await peer.start();
    },
  };
}

/** Connects an SDK client with these capabilities and one root. */
async function connected(transport: SdkTransport, capabilities: JsonObject = ANNOUNCING) {
  const client = new Client({ name: 'test', version: '0' }, { capabilities });
  let uri = 'file:///one';
  if (capabilities.roots) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri }] }));
  onTestFinished(() => client.close());
  await client.connect(transport);
  return {
    call: async () => JSON.stringify((await client.callTool(WHERE)).content),
    /** Sends the notification even if the client did not declare it. Settles when the gateway has handled it. */
    async change(to: string) {
      uri = to;
      await client.transport?.send({ jsonrpc: '2.0', method: CHANGED });
      await client.ping();
    },
  };
}

const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };

function overStdio(heddle: Heddle): SdkTransport {
  const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()];
  onTestFinished(() => stop.abort());
  void serveStdio({ heddle, caller: OWNER, input, output }, stop.signal);
  return new StdioServerTransport(output, input);
}

async function overWs({ port }: GatewayUnderTest): Promise<SdkTransport> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/mcp`, ['mcp'], requestInit);
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  return transportOf(socket) as unknown as SdkTransport;
}

const TRANSPORTS: Readonly<Record<string, (gateway: GatewayUnderTest) => Promise<SdkTransport>>> = {
  'Streamable HTTP': async ({ url }) =>
    new StreamableHTTPClientTransport(new URL(url), { requestInit }) as SdkTransport,
  SSE: async ({ port }) => new SSEClientTransport(new URL(`http://127.0.0.1:${port}/sse`), { requestInit }),
  WebSocket: overWs,
  stdio: async ({ heddle }) => overStdio(heddle),
};

const changesOf = ({ seen }: ReturnType<typeof rootsServer>) => seen.reduce((sum, { changes }) => sum + changes, 0);

describe.each(Object.entries(TRANSPORTS))('the roots of a client over %s', (_, over) => {
  verifies('T10', 'a change of them is passed on to the server that this session has called', async () => {
    const up = rootsServer();
    const gateway = await gatewayUnderTest({ servers: { up } });
    const client = await connected(await over(gateway));
    await client.change('file:///early'); // No server has listed the roots of this client yet.
    expect(await client.call()).toContain('file:///early');
    await client.change('file:///two');
    await until('the server is told', () => changesOf(up) > 0);
    expect(await client.call()).toContain('file:///two');
    expect(up.seen.filter(({ declared }) => declared.roots)).toEqual([{ declared: ANNOUNCING, changes: 1 }]);
    expect(changesOf(up)).toBe(1);
  });

  verifies('T10', 'a change of them reaches no connection that another session alone has used', async () => {
    const up = rootsServer();
    const gateway = await gatewayUnderTest({ servers: { up } });
    const [one, other] = [await connected(await over(gateway)), await connected(await over(gateway))];
    await one.call();
    await other.change('file:///two');
    await one.call();
    expect(changesOf(up)).toBe(0);
  });

  verifies('T10', 'a change that the client did not declare is not passed on', async () => {
    const up = rootsServer();
    const gateway = await gatewayUnderTest({ servers: { up }, config: { roots: ['/srv'] } });
    const [silent, plain] = [
      await connected(await over(gateway), { roots: {} }),
      await connected(await over(gateway), { elicitation: {} }),
    ];
    for (const client of [silent, plain]) {
      await client.call();
      await client.change('file:///two');
      await client.call();
    }
    expect(up.seen.map(({ declared }) => declared)).toContainEqual({ roots: {} });
    expect(changesOf(up)).toBe(0);
  });
});

verifies('T10', 'a change of the roots of the sole client reaches the one connection of a server', async () => {
  const up = rootsServer();
  const capabilities = parseClientCapabilities(ANNOUNCING) ?? expect.unreachable();
  const user = { principal: OWNER.id, capabilities, era: 'legacy', hasOneConnection: true } as const;
  const client = await connected(overStdio(await temporaryHeddle({ servers: { up }, user })));
  await client.call();
  await client.change('file:///two');
  expect(await client.call()).toContain('file:///two');
  expect(up.seen).toEqual([{ declared: ANNOUNCING, changes: 1 }]);
});
