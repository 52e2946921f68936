import { newCallId } from '../../core/call/call-id.ts';
import type { Call, CallKind, JsonObject, Progress } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { RequestContext } from '../request-context.ts';
import { isReservedMetaKey } from '../reserved-meta.ts';
import { supportsTasks } from './client-capabilities.ts';
import { logOf } from './logging.ts';

/** The kinds of call that may return input requests. */
const MAY_NEED_INPUT: readonly CallKind[] = ['tool', 'resource', 'prompt', 'extension'];
/** The kinds of call whose input has all parameters. */
const HAS_WHOLE_INPUT: readonly CallKind[] = ['completion', 'extension'];
const NO_META: JsonObject = {};
const ELICITATION_COMPLETE = 'notifications/elicitation/complete';

/** Converts a client request to a call: `what` is read from the parameters, the rest from `_meta` and the context. */
export function toCall(what: Pick<Call, 'kind' | 'name' | 'input'>, params: JsonObject, context: RequestContext): Call {
  const { _meta } = params;
  const extraParams = HAS_WHOLE_INPUT.includes(what.kind) ? undefined : unknownParams(params);
  const onProgress = progressOf(_meta, context);
  const log = logOf(_meta, context);
  const { notifyLater } = context;
  const capabilities = MAY_NEED_INPUT.includes(what.kind) ? context.capabilities : undefined;
  return {
    id: newCallId(),
    kind: what.kind,
    name: what.name,
    input: what.input,
    meta: unreserved(_meta),
    ...(extraParams && { extraParams }),
    caller: context.inSession ? context.inSession(context.caller) : context.caller,
    options: {},
    signal: context.signal,
    ...(what.kind === 'tool' && tasksOf(_meta, context)),
    ...(capabilities && { capabilities }),
    ...(context.paramHeaders && { paramHeaders: context.paramHeaders }),
    ...(onProgress && { onProgress }),
    ...(log && { log }),
    ...(notifyLater &&
      capabilities?.url && {
        onElicitationComplete: (notification: JsonObject) => notifyLater(ELICITATION_COMPLETE, notification),
      }),
  };
}

/** Tells whether a task may answer the call. For a legacy client the gateway itself waits for the task. */
function tasksOf(meta: unknown, { era }: RequestContext): Pick<Call, 'acceptsTask' | 'isClientWaiting'> {
  if (era === 'legacy') return WAITS_FOR_TASKS;
  return supportsTasks(meta) ? TAKES_TASKS : NO_TASKS;
}

const WAITS_FOR_TASKS = { acceptsTask: true, isClientWaiting: true } as const;
const TAKES_TASKS = { acceptsTask: true } as const;
const NO_TASKS = {} as const;

// Most calls have only these parameters, and then nothing is copied.
const KNOWN = new Set(['name', 'arguments', 'uri', '_meta', 'inputResponses', 'requestState', 'task', 'taskId']);

/** Returns the parameters that no MCP version defines, for the server; undefined if there are none. */
function unknownParams(params: JsonObject): JsonObject | undefined {
  let found = false;
  for (const key in params) found ||= !KNOWN.has(key);
  return found ? Object.fromEntries(Object.entries(params).filter(([key]) => !KNOWN.has(key))) : undefined;
}

function progressOf(meta: unknown, { notify }: RequestContext): ((progress: Progress) => void) | undefined {
  const progressToken = isObject(meta) ? meta.progressToken : undefined;
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined;
  return (progress) => notify('notifications/progress', { ...progress, progressToken });
}

/** Returns the client's `_meta` without reserved keys and progress token, which concern only client and gateway. */
function unreserved(meta: unknown): JsonObject {
  if (!isObject(meta)) return NO_META;
  const kept = Object.entries(meta).filter(([key]) => key !== 'progressToken' && !isReservedMetaKey(key));
  return kept.length === 0 ? NO_META : Object.fromEntries(kept);
}
