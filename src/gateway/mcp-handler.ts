import type { Caller, ClientCapabilities, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Features } from '../core/records/listing.ts';
import { VERSION } from '../core/version.ts';
import type { Heddle } from '../heddle.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { INVALID_PARAMS, LEGACY_VERSIONS, META, MODERN_VERSION, TASKS_EXTENSION } from '../wire/mcp.ts';
import { type Continuations, openContinuations } from './continuations/continuations.ts';
import {
  narrowExtensions,
  toServerCapabilities,
  withCapabilities,
  withoutTasks,
} from './methods/client-capabilities.ts';
import { extensionMethod } from './methods/extension-methods.ts';
import { UNCACHED } from './methods/list-result.ts';
import { setLevel } from './methods/logging.ts';
import { profileOf, readMethods, subscriptionMethods } from './methods/read-methods.ts';
import { callRunner, type RunCall } from './methods/run-call.ts';
import { listenToChanges } from './methods/subscriptions-listen.ts';
import { taskMethods } from './methods/task-methods.ts';
import { toCall } from './methods/to-call.ts';
import type { RequestContext, RequestHandler } from './request-context.ts';
import { toCallError } from './to-rpc-error.ts';

const SERVER = { name: 'heddle', title: 'Heddle', version: VERSION };

/** Maps MCP methods of both eras to Heddle. Every call goes through `dispatch`, which applies the policy. */
export function mcpHandler(heddle: Heddle, continuations: Continuations = openContinuations(heddle)): RequestHandler {
  const runCall = callRunner(heddle, continuations);
  const common: Record<string, RequestHandler> = {
    'tools/call': (_method, params, context) => callTool(runCall, params, context),
    ...readMethods(heddle, runCall),
  };
  const methods: Record<RequestContext['era'], Record<string, RequestHandler>> = {
    legacy: {
      ...common,
      ...subscriptionMethods(runCall),
      initialize: async (_method, params, { caller }) => toInitializeResult(params, await featuresFor(heddle, caller)),
      ping: async () => ({}),
      'logging/setLevel': setLevel,
    },
    modern: {
      ...common,
      'server/discover': async (_method, _params, { caller }) => toDiscoverResult(await featuresFor(heddle, caller)),
      ...taskMethods(heddle, continuations),
      'subscriptions/listen': (_method, params, context) => listenToChanges({ heddle, runCall }, params, context),
    },
  };

  /** Adds the capabilities to the caller, without extensions that no server has. */
  function withNarrowed(client: RequestContext, declared: ClientCapabilities): RequestContext {
    const capabilities = narrowExtensions(declared, heddle.catalog);
    const caller = capabilities ? withCapabilities(client.caller, capabilities, client.era) : client.caller;
    return { ...client, caller, capabilities, declared };
  }

  const callExtension = extensionMethod(heddle, runCall);

  return function handleRequest(method, params, client) {
    const context = client.capabilities ? withNarrowed(client, client.capabilities) : client;
    const known = methods[context.era];
    const handle = (Object.hasOwn(known, method) ? known[method] : undefined) ?? callExtension;
    const result = handle(method, params, context);
    return context.era === 'modern' ? result.then(withResultType) : result;
  };
}

/** Returns the features for a caller, with the instructions that its profile shows. */
async function featuresFor(heddle: Heddle, caller: Caller): Promise<Features> {
  const { instructions: joined, ...features } = await heddle.catalog.offers(caller);
  const { instructions: shown = 'join' } = profileOf(heddle, caller) ?? {};
  const instructions = shown === 'join' ? joined : shown === 'off' ? undefined : shown.text;
  return { ...features, ...(instructions !== undefined && { instructions }) };
}

const withInstructions = ({ instructions }: Features): JsonObject =>
  instructions === undefined ? {} : { instructions };

function toInitializeResult({ protocolVersion }: JsonObject, features: Features): JsonObject {
  const version = LEGACY_VERSIONS.find((version) => version === protocolVersion) ?? LEGACY_VERSIONS[0];
  const extensions = withoutTasks(features.extensions);
  const capabilities = { ...toServerCapabilities(features), ...(extensions && { extensions }) };
  return { protocolVersion: version, capabilities, serverInfo: SERVER, ...withInstructions(features) };
}

function toDiscoverResult(features: Features): JsonObject {
  const _meta = { [META.serverInfo]: SERVER };
  const capabilities = {
    ...toServerCapabilities(features),
    extensions: { [TASKS_EXTENSION]: {}, ...withoutTasks(features.extensions) },
  };
  return { supportedVersions: [MODERN_VERSION], capabilities, ...withInstructions(features), ...UNCACHED, _meta };
}

const withResultType = (result: JsonObject) =>
  result.resultType === undefined ? { resultType: 'complete', ...result } : result;

// Most requests are `tools/call`. A promise chain costs each of them less than an async function.
function callTool(runCall: RunCall, params: JsonObject, context: RequestContext): Promise<JsonObject> {
  const { name, arguments: input = {} } = params;
  if (typeof name !== 'string') return refuse('`name` has to be a string.');
  if (!isObject(input)) return refuse('`arguments` has to be an object.');
  const result = runCall(toCall({ kind: 'tool', name, input }, params, context), context, params);
  return result.then(context.era === 'legacy' ? withObjectContent : undefined, (thrown) =>
    toCallError(thrown, context),
  );
}

const refuse = (reason: string) => Promise.reject(new RpcError(INVALID_PARAMS, reason));

/** Wraps structured content that is no object as `{ result }`: legacy clients would reject the whole result. */
function withObjectContent(result: JsonObject): JsonObject {
  const { structuredContent: value } = result;
  return value === undefined || isObject(value) ? result : { ...result, structuredContent: { result: value } };
}
