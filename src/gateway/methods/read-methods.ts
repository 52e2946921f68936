import type { Settings } from '../../config/schema/schema.ts';
import type { Call, Caller, CatalogKind, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INVALID_PARAMS, INVALID_REQUEST } from '../../wire/mcp.ts';
import type { RequestContext, RequestHandler } from '../request-context.ts';
import { toReadError } from '../to-rpc-error.ts';
import { fromCursor, toListResult, UNCACHED, withShortDescriptions } from './list-result.ts';
import type { RunCall } from './run-call.ts';
import { toCall } from './to-call.ts';

/** Returns the handlers for lists, resources, prompts and completions, for both eras. */
export function readMethods(heddle: Heddle, runCall: RunCall): Record<string, RequestHandler> {
  const list =
    (kind: CatalogKind): RequestHandler =>
    async (_method, { cursor }, { caller, era }) => {
      const from = fromCursor(cursor);
      const page = await heddle.catalog.list(caller, { kind, ...(from !== undefined && { cursor: from }) });
      const whole = toListResult(page, era, kind);
      const max = descriptionLimit(heddle, caller);
      return max === undefined ? whole : withShortDescriptions(whole, max);
    };
  return {
    'tools/list': list('tool'),
    'resources/list': list('resource'),
    'resources/templates/list': list('template'),
    'resources/read': async (_method, params, context) => {
      const call = toCall({ kind: 'resource', name: textAt(params, 'uri'), input: {} }, params, context);
      const value = await dispatchRead(runCall, call, context, params);
      if (context.era === 'legacy') return withoutCaching(value);
      return value.resultType === 'input_required' ? value : { ...UNCACHED, ...value };
    },
    'prompts/list': list('prompt'),
    'prompts/get': async (_method, params, context) => {
      const { arguments: input = {} } = params;
      if (!isObject(input)) throw new RpcError(INVALID_PARAMS, '`arguments` has to be an object.');
      const call = toCall({ kind: 'prompt', name: textAt(params, 'name'), input }, params, context);
      return dispatchRead(runCall, call, context, params);
    },
    'completion/complete': async (_method, params, context) => {
      const { _meta, ...input } = params;
      return dispatchRead(
        runCall,
        toCall({ kind: 'completion', name: referencedName(params), input }, params, context),
        context,
      );
    },
  };
}

/** Returns `maxDescriptionChars` of the caller's profile. Without it descriptions are passed whole. */
const descriptionLimit = (heddle: Heddle, caller: Caller): number | undefined =>
  profileOf(heddle, caller)?.maxDescriptionChars;

type Profile = Settings['profiles'][string];

/** Returns the settings of the caller's profile; undefined without a profile. */
export function profileOf({ access }: Pick<Heddle, 'access'>, { profile }: Caller): Profile | undefined {
  if (profile === undefined) return undefined;
  const { profiles } = access.settings();
  return Object.hasOwn(profiles, profile) ? profiles[profile] : undefined;
}

/** Returns the handlers for resource subscriptions, which only clients with a session have. */
export function subscriptionMethods(runCall: RunCall): Record<string, RequestHandler> {
  return {
    'resources/subscribe': async (_method, params, context) => {
      const uri = textAt(params, 'uri');
      const { subscriptions, signal: requestSignal } = context;
      if (!subscriptions)
        throw new RpcError(INVALID_REQUEST, 'There is no session for resource updates. Send initialize first.');
      const unsubscribe = () => subscriptions.end(uri);
      requestSignal.addEventListener('abort', unsubscribe, { once: true });
      try {
        await subscriptions.begin(uri, async ({ signal, notify }) => {
          const onProgress = (update: JsonObject) => notify('notifications/resources/updated', update);
          const call = toCall({ kind: 'subscription', name: uri, input: {} }, params, context);
          await dispatchRead(runCall, { ...call, signal, onProgress }, context);
        });
      } finally {
        requestSignal.removeEventListener('abort', unsubscribe);
      }
      return {};
    },
    'resources/unsubscribe': async (_method, params, { subscriptions }) => {
      subscriptions?.end(textAt(params, 'uri'));
      return {};
    },
  };
}

/** Runs a call that only reads. Throws every failure as an `RpcError`. */
export async function dispatchRead(
  runCall: RunCall,
  ...[call, context, params]: [call: Call, context: RequestContext, params?: JsonObject]
): Promise<JsonObject> {
  try {
    return await runCall(call, context, params);
  } catch (thrown) {
    if (thrown instanceof RpcError) throw thrown;
    throw toReadError(HeddleError.from(thrown), call, context.era);
  }
}

/** Removes the cache fields, which legacy results do not have. */
const withoutCaching = ({ ttlMs: _, cacheScope: __, ...value }: JsonObject) => value;

function textAt(params: JsonObject, key: string): string {
  const text = params[key];
  if (typeof text !== 'string' || text === '') throw new RpcError(INVALID_PARAMS, `\`${key}\` has to be a string.`);
  return text;
}

/** Returns the name of the prompt or the URI template that a completion refers to. */
function referencedName({ ref }: JsonObject): string {
  if (!isObject(ref)) throw new RpcError(INVALID_PARAMS, '`ref` has to be an object.');
  if (ref.type === 'ref/prompt') return textAt(ref, 'name');
  if (ref.type === 'ref/resource') return textAt(ref, 'uri');
  throw new RpcError(INVALID_PARAMS, '`ref.type` has to be ref/prompt or ref/resource.');
}
