import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { RpcError } from '../wire/json-rpc.ts';
import {
  INVALID_PARAMS,
  LEGACY_VERSIONS,
  META,
  METHOD_NOT_FOUND,
  MODERN_VERSION,
  UNSUPPORTED_VERSION,
} from '../wire/mcp.ts';
import { Peer } from '../wire/peer.ts';
import type { Transport } from '../wire/transport.ts';
import { ToolFailure } from './tool-failure.ts';

export interface BuiltinTool {
  /** The definition in `tools/list`, with the facts under `_meta["dev.heddle/tool"]`. */
  readonly definition: JsonObject & { readonly name: string };
  /** Returns the result of `tools/call`. Throws a `ToolFailure` with a message for the model. */
  run(input: JsonObject, signal: AbortSignal): Promise<JsonObject>;
}

export interface ToolServer {
  readonly name: string;
  readonly version: string;
  readonly instructions?: string;
  readonly tools: readonly BuiltinTool[];
  /** Receives unexpected errors of a tool. The caller gets only a general message. */
  readonly trouble?: (error: Error) => void;
}

const CAPABILITIES = { tools: {} };
const NOT_CACHED = { ttlMs: 0, cacheScope: 'private' };

type RequestHandler = (params: JsonObject, signal: AbortSignal) => JsonObject | Promise<JsonObject>;

/** Serves tools on one transport, to clients of either era. Resolves once the transport has started. */
export async function serveTools(transport: Transport, server: ToolServer): Promise<void> {
  const { name, version, trouble } = server;
  const handlers = handlersOf(server);
  const peer = new Peer(transport, {
    server: 'the client',
    ...(trouble && { trouble }),
    async answer(method, params, { signal }) {
      const modern = isModern(params) || method === 'server/discover';
      const handle = handlers.get(method);
      if (!handle) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
      const result = await handle(params, signal);
      if (!modern) return result;
      const cache = method === 'tools/call' ? undefined : NOT_CACHED;
      return { resultType: 'complete', ...cache, ...result, _meta: { [META.serverInfo]: { name, version } } };
    },
  });
  await peer.start();
}

function handlersOf(server: ToolServer): ReadonlyMap<string, RequestHandler> {
  const { name, version, tools } = server;
  const instructions = server.instructions === undefined ? {} : { instructions: server.instructions };
  return new Map<string, RequestHandler>([
    [
      'initialize',
      ({ protocolVersion: requested }) => ({
        protocolVersion: LEGACY_VERSIONS.find((version) => version === requested) ?? LEGACY_VERSIONS[0],
        capabilities: CAPABILITIES,
        serverInfo: { name, version },
        ...instructions,
      }),
    ],
    ['server/discover', () => ({ supportedVersions: [MODERN_VERSION], capabilities: CAPABILITIES, ...instructions })],
    ['tools/list', () => ({ tools: tools.map((tool) => tool.definition) })],
    ['tools/call', (params, signal) => callTool(server, params, signal)],
  ]);
}

function isModern(params: JsonObject): boolean {
  const requested = isObject(params._meta) ? params._meta[META.protocolVersion] : undefined;
  if (requested === undefined) return false;
  if (requested === MODERN_VERSION) return true;
  throw new RpcError(UNSUPPORTED_VERSION, `This server speaks ${MODERN_VERSION}.`, {
    supported: [MODERN_VERSION],
    requested,
  });
}

async function callTool(server: ToolServer, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  const { name, arguments: input = {} } = params;
  const tool = server.tools.find((one) => one.definition.name === name);
  if (!tool) {
    const quoted = JSON.stringify(name ?? null).slice(0, 80);
    throw new RpcError(INVALID_PARAMS, `There is no tool named ${quoted}; tools/list gives the names.`);
  }
  if (!isObject(input))
    throw new RpcError(INVALID_PARAMS, `The arguments of ${tool.definition.name} are not an object.`);
  try {
    return await tool.run(input, signal);
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return failed(thrown.message);
    if (!signal.aborted) server.trouble?.(thrown instanceof Error ? thrown : new Error(String(thrown)));
    // The error may name files of this machine, so its text is not passed on.
    return failed(
      `${tool.definition.name} failed with an internal error. Call it again. If it fails again, tell the operator.`,
    );
  }
}

function failed(text: string): JsonObject {
  return { isError: true, content: [{ type: 'text', text }] };
}
