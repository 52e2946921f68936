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
  /**
   * Returns the result of `tools/call`. Throws a `ToolFailure` with a message for the model. `clientRoots` are the URIs
   * of the client's roots, if the server asks for them and the client has roots.
   */
  run(input: JsonObject, signal: AbortSignal, clientRoots?: readonly string[]): Promise<JsonObject>;
}

export interface ToolServer {
  readonly name: string;
  readonly version: string;
  readonly instructions?: string;
  readonly tools: readonly BuiltinTool[];
  /** True asks clients with roots for them with each call, since they may change. */
  readonly clientRoots?: boolean;
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
      const meta = isObject(result._meta) ? result._meta : undefined;
      return { resultType: 'complete', ...cache, ...result, _meta: { ...meta, [META.serverInfo]: { name, version } } };
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

const ROOTS_REQUIRED = { resultType: 'input_required', inputRequests: { roots: { method: 'roots/list' } } };

/** Returns the root URIs of a client: `unknown` before it has answered, undefined if it has no roots. */
function clientRootsIn({ _meta: meta, inputResponses }: JsonObject): readonly string[] | 'unknown' | undefined {
  const capabilities = isObject(meta) ? meta[META.clientCapabilities] : undefined;
  if (!isObject(capabilities) || !isObject(capabilities.roots)) return undefined;
  if (!isObject(inputResponses)) return 'unknown';
  const { roots } = isObject(inputResponses.roots) ? inputResponses.roots : {};
  // An invalid response is an empty list: no root is allowed then.
  return (Array.isArray(roots) ? roots : []).flatMap((root) =>
    isObject(root) && typeof root.uri === 'string' ? [root.uri] : [],
  );
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
  const clientRoots = server.clientRoots ? clientRootsIn(params) : undefined;
  if (clientRoots === 'unknown') return ROOTS_REQUIRED;
  try {
    return await tool.run(input, signal, clientRoots);
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return failed(thrown.message, thrown.code);
    if (!signal.aborted) server.trouble?.(thrown instanceof Error ? thrown : new Error(String(thrown)));
    // The error may name files of this machine, so its text is not passed on.
    return failed(
      `${tool.definition.name} failed with an internal error. Call it again. If it fails again, tell the operator.`,
    );
  }
}

/** Returns a result with structured content, the same as JSON text, and further texts for the model. */
export function structured(value: JsonObject, ...notes: readonly string[]): JsonObject {
  const content = [JSON.stringify(value), ...notes].map((text) => ({ type: 'text', text }));
  return { content, structuredContent: value };
}

function failed(text: string, code?: string): JsonObject {
  const unknown = code === 'OUTCOME_UNKNOWN' ? { 'dev.heddle/outcome': 'unknown' } : {};
  const meta = code === undefined ? {} : { _meta: { 'dev.heddle/code': code, ...unknown } };
  return { isError: true, content: [{ type: 'text', text }], ...meta };
}
