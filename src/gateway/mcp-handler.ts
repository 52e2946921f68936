import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { LEGACY_VERSIONS, MODERN_VERSION } from '../core/protocol-versions.ts';
import { TASKS } from '../core/task.ts';
import { VERSION } from '../core/version.ts';
import type { Heddle, Offers } from '../heddle.ts';
import { INVALID_PARAMS, RpcError } from '../wire/json-rpc.ts';
import { ableCaller } from './able-caller.ts';
import { type Answer, type Asked, META_KEY, UnknownMethod } from './asked.ts';
import { toCapabilities } from './capabilities.ts';
import { type Bridge, eraBridge } from './era-bridge.ts';
import { failedCall } from './error-answer.ts';
import { type Handouts, handouts } from './handouts.ts';
import { listen } from './listen.ts';
import { fromCursor, toListing, UNCACHED } from './listing.ts';
import { setLevel } from './logging.ts';
import { followMethods, readMethods } from './read-methods.ts';
import { taskMethods } from './task-methods.ts';
import { toCall } from './to-call.ts';

const SERVER = { name: 'heddle', title: 'Heddle', version: VERSION };

/** Says Heddle in MCP, in both eras. Knows the protocol and nothing about policy: it only dispatches. */
export function mcpHandler(heddle: Heddle, given: Handouts = handouts(heddle)): Answer {
  const bridge = eraBridge(heddle, given);
  const both: Record<string, Answer> = {
    'tools/list': async (_method, { cursor }, { caller, era }) => {
      const from = fromCursor(cursor);
      return toListing(await heddle.catalog.list(caller, from === undefined ? {} : { cursor: from }), era);
    },
    'tools/call': (_method, params, asked) => callTool(bridge, params, asked),
    ...readMethods(heddle, bridge),
  };
  const methods: Record<Asked['era'], Record<string, Answer>> = {
    legacy: {
      ...both,
      ...followMethods(bridge),
      initialize: async (_method, params, { caller }) => hello(params, await heddle.catalog.offers(caller)),
      ping: async () => ({}),
      'logging/setLevel': setLevel,
    },
    modern: {
      ...both,
      'server/discover': async (_method, _params, { caller }) => introduction(await heddle.catalog.offers(caller)),
      ...taskMethods(heddle, given),
      'subscriptions/listen': (_method, params, asked) => listen({ heddle, bridge }, params, asked),
    },
  };

  return function answer(method, params, client) {
    const asked = client.can ? { ...client, caller: ableCaller(client.caller, client.can, client.era) } : client;
    const known = methods[asked.era];
    const handle = Object.hasOwn(known, method) ? known[method] : undefined;
    if (!handle) return Promise.reject(new UnknownMethod(method));
    const result = handle(method, params, asked);
    return asked.era === 'modern' ? result.then(forModern) : result;
  };
}

function hello({ protocolVersion }: JsonObject, offers: Offers): JsonObject {
  const version = LEGACY_VERSIONS.find((one) => one === protocolVersion) ?? LEGACY_VERSIONS[0];
  return { protocolVersion: version, capabilities: toCapabilities(offers), serverInfo: SERVER };
}

function introduction(offers: Offers): JsonObject {
  const _meta = { [META_KEY('serverInfo')]: SERVER };
  const capabilities = { ...toCapabilities(offers), extensions: { [TASKS]: {} } };
  return { supportedVersions: [MODERN_VERSION], capabilities, ...UNCACHED, _meta };
}

const forModern = (result: JsonObject) =>
  result.resultType === undefined ? { resultType: 'complete', ...result } : result;

// Most requests are this one, so a chain: it costs each of them less than an async function.
function callTool(bridge: Bridge, params: JsonObject, asked: Asked): Promise<JsonObject> {
  const { name, arguments: input = {} } = params;
  if (typeof name !== 'string') return refuse('`name` has to be a string.');
  if (!isObject(input)) return refuse('`arguments` has to be an object.');
  const result = bridge(toCall({ kind: 'tool', name, input }, params, asked), asked, params);
  return result.then(asked.era === 'legacy' ? withObject : undefined, (thrown) => failedCall(thrown, asked));
}

const refuse = (why: string) => Promise.reject(new RpcError(INVALID_PARAMS, why));

/** Older clients know structured content as an object only, and refuse the whole result for any other. */
function withObject(result: JsonObject): JsonObject {
  const { structuredContent: value } = result;
  return value === undefined || isObject(value) ? result : { ...result, structuredContent: { result: value } };
}
