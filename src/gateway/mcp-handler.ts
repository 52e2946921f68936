import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { VERSION } from '../core/version.ts';
import type { Features, Heddle } from '../heddle.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { INVALID_PARAMS, LEGACY_VERSIONS, META, MODERN_VERSION, TASKS_EXTENSION } from '../wire/mcp.ts';
import { type Continuations, openContinuations } from './continuations/continuations.ts';
import { toServerCapabilities, withCapabilities } from './methods/client-capabilities.ts';
import { fromCursor, toListResult, UNCACHED } from './methods/list-result.ts';
import { setLevel } from './methods/logging.ts';
import { readMethods, subscriptionMethods } from './methods/read-methods.ts';
import { callRunner, type RunCall } from './methods/run-call.ts';
import { listenToChanges } from './methods/subscriptions-listen.ts';
import { taskMethods } from './methods/task-methods.ts';
import { toCall } from './methods/to-call.ts';
import { type RequestContext, type RequestHandler, UnknownMethod } from './request-context.ts';
import { toCallError } from './to-rpc-error.ts';

const SERVER = { name: 'heddle', title: 'Heddle', version: VERSION };

/** Says Heddle in MCP, in both eras. Knows the protocol and nothing about policy: it only dispatches. */
export function mcpHandler(heddle: Heddle, given: Continuations = openContinuations(heddle)): RequestHandler {
  const bridge = callRunner(heddle, given);
  const both: Record<string, RequestHandler> = {
    'tools/list': async (_method, { cursor }, { caller, era }) => {
      const from = fromCursor(cursor);
      return toListResult(await heddle.catalog.list(caller, from === undefined ? {} : { cursor: from }), era);
    },
    'tools/call': (_method, params, asked) => callTool(bridge, params, asked),
    ...readMethods(heddle, bridge),
  };
  const methods: Record<RequestContext['era'], Record<string, RequestHandler>> = {
    legacy: {
      ...both,
      ...subscriptionMethods(bridge),
      initialize: async (_method, params, { caller }) => hello(params, await heddle.catalog.offers(caller)),
      ping: async () => ({}),
      'logging/setLevel': setLevel,
    },
    modern: {
      ...both,
      'server/discover': async (_method, _params, { caller }) => introduction(await heddle.catalog.offers(caller)),
      ...taskMethods(heddle, given),
      'subscriptions/listen': (_method, params, asked) => listenToChanges({ heddle, bridge }, params, asked),
    },
  };

  return function answer(method, params, client) {
    const asked = client.capabilities
      ? { ...client, caller: withCapabilities(client.caller, client.capabilities, client.era) }
      : client;
    const known = methods[asked.era];
    const handle = Object.hasOwn(known, method) ? known[method] : undefined;
    if (!handle) return Promise.reject(new UnknownMethod(method));
    const result = handle(method, params, asked);
    return asked.era === 'modern' ? result.then(forModern) : result;
  };
}

function hello({ protocolVersion }: JsonObject, offers: Features): JsonObject {
  const version = LEGACY_VERSIONS.find((one) => one === protocolVersion) ?? LEGACY_VERSIONS[0];
  return { protocolVersion: version, capabilities: toServerCapabilities(offers), serverInfo: SERVER };
}

function introduction(offers: Features): JsonObject {
  const _meta = { [META.serverInfo]: SERVER };
  const capabilities = { ...toServerCapabilities(offers), extensions: { [TASKS_EXTENSION]: {} } };
  return { supportedVersions: [MODERN_VERSION], capabilities, ...UNCACHED, _meta };
}

const forModern = (result: JsonObject) =>
  result.resultType === undefined ? { resultType: 'complete', ...result } : result;

// Most requests are this one, so a chain: it costs each of them less than an async function.
function callTool(bridge: RunCall, params: JsonObject, asked: RequestContext): Promise<JsonObject> {
  const { name, arguments: input = {} } = params;
  if (typeof name !== 'string') return refuse('`name` has to be a string.');
  if (!isObject(input)) return refuse('`arguments` has to be an object.');
  const result = bridge(toCall({ kind: 'tool', name, input }, params, asked), asked, params);
  return result.then(asked.era === 'legacy' ? withObject : undefined, (thrown) => toCallError(thrown, asked));
}

const refuse = (why: string) => Promise.reject(new RpcError(INVALID_PARAMS, why));

/** Older clients know structured content as an object only, and refuse the whole result for any other. */
function withObject(result: JsonObject): JsonObject {
  const { structuredContent: value } = result;
  return value === undefined || isObject(value) ? result : { ...result, structuredContent: { result: value } };
}
