import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { RpcError, type Transport } from '../wire/json-rpc.ts';
import {
  INVALID_PARAMS,
  LEGACY_VERSIONS,
  META,
  METHOD_NOT_FOUND,
  MODERN_VERSION,
  UNSUPPORTED_VERSION,
} from '../wire/mcp.ts';
import { Peer } from '../wire/peer.ts';
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

type Answer = (params: JsonObject, signal: AbortSignal) => JsonObject | Promise<JsonObject>;

/** Serves tools on one transport, to clients of either era. Resolves once the transport has started. */
export async function serveTools(line: Transport, server: ToolServer): Promise<void> {
  const { name, version, trouble } = server;
  const answers = answersOf(server);
  const peer = new Peer(line, {
    server: 'the client',
    ...(trouble && { trouble }),
    async answer(method, params, { signal }) {
      const modern = isModern(params) || method === 'server/discover';
      const answer = answers.get(method);
      if (!answer) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
      const result = await answer(params, signal);
      if (!modern) return result;
      const cache = method === 'tools/call' ? undefined : NOT_CACHED;
      return { resultType: 'complete', ...cache, ...result, _meta: { [META.serverInfo]: { name, version } } };
    },
  });
  await peer.start();
}

function answersOf(server: ToolServer): ReadonlyMap<string, Answer> {
  const { name, version, tools } = server;
  const instructions = server.instructions === undefined ? {} : { instructions: server.instructions };
  return new Map<string, Answer>([
    [
      'initialize',
      ({ protocolVersion: asked }) => ({
        protocolVersion: LEGACY_VERSIONS.find((version) => version === asked) ?? LEGACY_VERSIONS[0],
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
    const asked = JSON.stringify(name ?? null).slice(0, 80);
    throw new RpcError(INVALID_PARAMS, `There is no tool named ${asked}; tools/list gives the names.`);
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
      `${tool.definition.name} failed inside. Call it again; if it fails again, tell who runs this server.`,
    );
  }
}

function failed(text: string): JsonObject {
  return { isError: true, content: [{ type: 'text', text }] };
}
