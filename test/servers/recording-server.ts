import type { Json, JsonObject } from '../../src/core/call.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { INVALID_PARAMS } from '../../src/wire/mcp.ts';
import { Peer } from '../../src/wire/peer.ts';
import type { Transport } from '../../src/wire/transport.ts';

export interface CallContext {
  readonly signal: AbortSignal;
  readonly meta: JsonObject;
  readonly progress: (fields: JsonObject) => void;
}

export type Behaviour = (input: JsonObject, context: CallContext) => Promise<JsonObject> | JsonObject;

export interface RecordingServer extends InProcessServer {
  /** The params of every `tools/call`, in order. */
  readonly calls: JsonObject[];
  /** The tool names of cancelled calls. */
  readonly cancelled: string[];
  /** Replaces its tools and sends `notifications/tools/list_changed`. */
  change(tools: Readonly<Record<string, Behaviour>>): void;
}

export const text = (value: string): JsonObject => ({ content: [{ type: 'text', text: value }] });

/** Creates a legacy server in this process. It runs the given behaviours and records every call. */
export function recordingServer(
  tools: Readonly<Record<string, Behaviour>>,
  define: (name: string) => JsonObject = () => ({}),
): RecordingServer {
  const calls: JsonObject[] = [];
  const cancelled: string[] = [];
  const peers = new Set<Peer>();
  let current = tools;

  async function call(peer: Peer, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    calls.push(params);
    const name = String(params.name);
    const run = Object.hasOwn(current, name) ? current[name] : undefined;
    if (!run) throw new RpcError(INVALID_PARAMS, `Unknown tool ${name}`);
    signal.addEventListener('abort', () => cancelled.push(name));
    const meta = (params._meta ?? {}) as JsonObject;
    const progress = (fields: JsonObject) =>
      void peer.notify('notifications/progress', { ...fields, progressToken: meta.progressToken as Json });
    return run((params.arguments ?? {}) as JsonObject, { signal, meta, progress });
  }

  return {
    calls,
    cancelled,
    change(next) {
      current = next;
      for (const peer of peers) void peer.notify('notifications/tools/list_changed');
    },
    async connect(transport: Transport) {
      const peer: Peer = new Peer(transport, {
        server: 'Heddle',
        async answer(method, params, { signal }) {
          if (method === 'initialize') return hello(params);
          if (method === 'tools/list') return { tools: Object.keys(current).map((name) => toTool(name, define)) };
          if (method === 'tools/call') return call(peer, params, signal);
          throw new RpcError(-32601, `${method} is not supported.`);
        },
      });
      peers.add(peer);
      peer.closed.then(() => peers.delete(peer));
      await peer.start();
    },
  };
}

const hello = ({ protocolVersion }: JsonObject): JsonObject => ({
  protocolVersion,
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'recording', version: '1' },
});

const toTool = (name: string, define: (name: string) => JsonObject): JsonObject => ({
  name,
  inputSchema: { type: 'object' },
  ...define(name),
});
