import type { JsonObject } from '../../src/core/call.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';

export interface CapabilityServer extends InProcessServer {
  /** The client capabilities that each connection declared, in the order of their handshakes. */
  readonly declared: JsonObject[];
  /** Replaces the tools, and sends `notifications/tools/list_changed` on every connection. */
  change(tools: Tools): void;
}

/** The client capability that each tool needs to be listed, by tool name. Tools with an empty one are always listed. */
export type Tools = Readonly<Record<string, string>>;

/** Creates a legacy server that lists some of its tools only to clients with a capability. */
export function capabilityServer(first: Tools): CapabilityServer {
  let tools = first;
  const declared: JsonObject[] = [];
  const peers = new Set<Peer>();
  return {
    declared,
    change(next) {
      tools = next;
      for (const peer of peers) peer.notify('notifications/tools/list_changed').catch(() => {});
    },
    async connect(transport) {
      let client: JsonObject = {};
      const answers: Record<string, (params: JsonObject) => JsonObject> = {
        initialize({ capabilities }) {
          client = capabilities as JsonObject;
          declared.push(client);
          const serverInfo = { name: 'capability', version: '1' };
          return { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: true } }, serverInfo };
        },
        'tools/list': () => ({
          tools: Object.entries(tools)
            .filter(([, needs]) => needs === '' || needs in client)
            .map(([name, needs]) => ({ name, description: needs, inputSchema: { type: 'object' } })),
        }),
        'tools/call': ({ name }) => ({
          content: [{ type: 'text', text: `${name} for ${Object.keys(client).sort()}` }],
        }),
      };
      const peer = new Peer(transport, {
        server: 'Heddle',
        onNotification() {},
        async answer(method, params) {
          const answer = answers[method];
          if (!answer) throw new RpcError(-32601, `${method} is not supported.`);
          return answer(params);
        },
      });
      peers.add(peer);
      await peer.start();
    },
  };
}
