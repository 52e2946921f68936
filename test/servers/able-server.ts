import type { JsonObject } from '../../src/core/call.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';

export interface AbleServer extends InProcessServer {
  /** What each line said that its user can be asked, in the order in which they were opened. */
  readonly told: JsonObject[];
  /** Lists other tools from now on, and says so on every line. */
  change(tools: Tools): void;
}

/** By its name: the capability without which a client is not shown the tool; an empty one for all. */
export type Tools = Readonly<Record<string, string>>;

/** A server of the older era that lists some of its tools only to clients that can be asked. */
export function ableServer(first: Tools): AbleServer {
  let tools = first;
  const told: JsonObject[] = [];
  const lines = new Set<Peer>();
  return {
    told,
    change(next) {
      tools = next;
      for (const line of lines) line.notify('notifications/tools/list_changed').catch(() => {});
    },
    async connect(line) {
      let able: JsonObject = {};
      const answers: Record<string, (params: JsonObject) => JsonObject> = {
        initialize({ capabilities }) {
          able = capabilities as JsonObject;
          told.push(able);
          const serverInfo = { name: 'able', version: '1' };
          return { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: true } }, serverInfo };
        },
        'tools/list': () => ({
          tools: Object.entries(tools)
            .filter(([, needs]) => needs === '' || needs in able)
            .map(([name, needs]) => ({ name, description: needs, inputSchema: { type: 'object' } })),
        }),
        'tools/call': ({ name }) => ({ content: [{ type: 'text', text: `${name} for ${Object.keys(able).sort()}` }] }),
      };
      const peer = new Peer(line, {
        server: 'Heddle',
        onNotification() {},
        async answer(method, params) {
          const answer = answers[method];
          if (!answer) throw new RpcError(-32601, `${method} is not here.`);
          return answer(params);
        },
      });
      lines.add(peer);
      await peer.start();
    },
  };
}
