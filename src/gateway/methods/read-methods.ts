import type { Call, JsonObject, TargetKind } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INVALID_PARAMS, INVALID_REQUEST } from '../../wire/mcp.ts';
import type { RequestContext, RequestHandler } from '../request-context.ts';
import { toReadError } from '../to-rpc-error.ts';
import { fromCursor, toListResult, UNCACHED } from './list-result.ts';
import type { RunCall } from './run-call.ts';
import { toCall } from './to-call.ts';

/** What MCP has beside tools, for clients of both eras: resources, prompts, and what may be typed for their arguments. */
export function readMethods(heddle: Heddle, bridge: RunCall): Record<string, RequestHandler> {
  const list =
    (kind: TargetKind): RequestHandler =>
    async (_method, { cursor }, { caller, era }) => {
      const from = fromCursor(cursor);
      const page = await heddle.catalog.list(caller, { kind, ...(from !== undefined && { cursor: from }) });
      return toListResult(page, era, kind);
    };
  return {
    'resources/list': list('resource'),
    'resources/templates/list': list('template'),
    'resources/read': async (_method, params, asked) => {
      const call = toCall({ kind: 'resource', name: textAt(params, 'uri'), input: {} }, params, asked);
      const value = await dispatchRead(bridge, call, asked, params);
      if (asked.era === 'legacy') return withoutCaching(value);
      return value.resultType === 'input_required' ? value : { ...UNCACHED, ...value };
    },
    'prompts/list': list('prompt'),
    'prompts/get': async (_method, params, asked) => {
      const { arguments: input = {} } = params;
      if (!isObject(input)) throw new RpcError(INVALID_PARAMS, '`arguments` has to be an object.');
      const call = toCall({ kind: 'prompt', name: textAt(params, 'name'), input }, params, asked);
      return dispatchRead(bridge, call, asked, params);
    },
    'completion/complete': async (_method, params, asked) => {
      const { _meta, ...input } = params;
      return dispatchRead(bridge, toCall({ kind: 'completion', name: referred(params), input }, params, asked), asked);
    },
  };
}

/** What only clients with a session can ask: to be told when a resource changes. */
export function subscriptionMethods(bridge: RunCall): Record<string, RequestHandler> {
  return {
    'resources/subscribe': async (_method, params, asked) => {
      const uri = textAt(params, 'uri');
      const { subscriptions, signal: wanted } = asked;
      if (!subscriptions)
        throw new RpcError(INVALID_REQUEST, 'There is no session in which to tell you. Initialize first.');
      const giveUp = () => subscriptions.end(uri);
      wanted.addEventListener('abort', giveUp, { once: true });
      try {
        await subscriptions.begin(uri, async ({ signal, tell }) => {
          const report = (update: JsonObject) => tell('notifications/resources/updated', update);
          const call = toCall({ kind: 'subscription', name: uri, input: {} }, params, asked);
          await dispatchRead(bridge, { ...call, signal, onProgress: report }, asked);
        });
      } finally {
        wanted.removeEventListener('abort', giveUp);
      }
      return {};
    },
    'resources/unsubscribe': async (_method, params, { subscriptions }) => {
      subscriptions?.end(textAt(params, 'uri'));
      return {};
    },
  };
}

/** Asks for something that is only to be read; throws an `RpcError` when that fails. */
export async function dispatchRead(
  bridge: RunCall,
  ...[call, asked, params]: [call: Call, asked: RequestContext, params?: JsonObject]
): Promise<JsonObject> {
  try {
    return await bridge(call, asked, params);
  } catch (thrown) {
    if (thrown instanceof RpcError) throw thrown;
    throw toReadError(HeddleError.from(thrown), call, asked.era);
  }
}

/** Words that legacy clients do not know. */
const withoutCaching = ({ ttlMs: _, cacheScope: __, ...value }: JsonObject) => value;

function textAt(params: JsonObject, key: string): string {
  const text = params[key];
  if (typeof text !== 'string' || text === '') throw new RpcError(INVALID_PARAMS, `\`${key}\` has to be a string.`);
  return text;
}

/** The prompt, or the resource template, that something is typed for. */
function referred({ ref }: JsonObject): string {
  if (!isObject(ref)) throw new RpcError(INVALID_PARAMS, '`ref` has to be an object.');
  if (ref.type === 'ref/prompt') return textAt(ref, 'name');
  if (ref.type === 'ref/resource') return textAt(ref, 'uri');
  throw new RpcError(INVALID_PARAMS, '`ref` has to be of a prompt or of a resource.');
}
