import type { Call, JsonObject, TargetKind } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { Heddle } from '../heddle.ts';
import { INVALID_PARAMS, INVALID_REQUEST, RpcError } from '../wire/json-rpc.ts';
import type { Answer, Asked } from './asked.ts';
import type { Bridge } from './era-bridge.ts';
import { failedRead } from './error-answer.ts';
import { fromCursor, toListing, UNCACHED } from './listing.ts';
import { toCall } from './to-call.ts';

/** What MCP has beside tools, for clients of both eras: resources, prompts, and what may be typed for their arguments. */
export function readMethods(heddle: Heddle, bridge: Bridge): Record<string, Answer> {
  const list =
    (kind: TargetKind): Answer =>
    async (_method, { cursor }, { caller, era }) => {
      const from = fromCursor(cursor);
      const page = await heddle.catalog.list(caller, { kind, ...(from !== undefined && { cursor: from }) });
      return toListing(page, era, kind);
    };
  return {
    'resources/list': list('resource'),
    'resources/templates/list': list('template'),
    'resources/read': async (_method, params, asked) => {
      const call = toCall({ kind: 'resource', name: textAt(params, 'uri'), input: {} }, params, asked);
      const value = await read(bridge, call, asked, params);
      if (asked.era === 'legacy') return withoutCaching(value);
      return value.resultType === 'input_required' ? value : { ...UNCACHED, ...value };
    },
    'prompts/list': list('prompt'),
    'prompts/get': async (_method, params, asked) => {
      const { arguments: input = {} } = params;
      if (!isObject(input)) throw new RpcError(INVALID_PARAMS, '`arguments` has to be an object.');
      const call = toCall({ kind: 'prompt', name: textAt(params, 'name'), input }, params, asked);
      return read(bridge, call, asked, params);
    },
    'completion/complete': async (_method, params, asked) => {
      const { _meta, ...input } = params;
      return read(bridge, toCall({ kind: 'completion', name: referred(params), input }, params, asked), asked);
    },
  };
}

/** What only clients with a session can ask: to be told when a resource changes. */
export function followMethods(bridge: Bridge): Record<string, Answer> {
  return {
    'resources/subscribe': async (_method, params, asked) => {
      const uri = textAt(params, 'uri');
      const { followed, signal: wanted } = asked;
      if (!followed) throw new RpcError(INVALID_REQUEST, 'There is no session in which to tell you. Initialize first.');
      const giveUp = () => followed.end(uri);
      wanted.addEventListener('abort', giveUp, { once: true });
      try {
        await followed.begin(uri, async ({ signal, tell }) => {
          const report = (update: JsonObject) => tell('notifications/resources/updated', update);
          const call = toCall({ kind: 'subscription', name: uri, input: {} }, params, asked);
          await read(bridge, { ...call, signal, report }, asked);
        });
      } finally {
        wanted.removeEventListener('abort', giveUp);
      }
      return {};
    },
    'resources/unsubscribe': async (_method, params, { followed }) => {
      followed?.end(textAt(params, 'uri'));
      return {};
    },
  };
}

/** Asks for something that is only to be read; throws an `RpcError` when that fails. */
export async function read(
  bridge: Bridge,
  ...[call, asked, params]: [call: Call, asked: Asked, params?: JsonObject]
): Promise<JsonObject> {
  try {
    return await bridge(call, asked, params);
  } catch (thrown) {
    if (thrown instanceof RpcError) throw thrown;
    throw failedRead(HeddleError.from(thrown), call, asked.era);
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
