import { newCallId } from '../../core/call/call-id.ts';
import type { Call, CallKind, JsonObject, Progress } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { RequestContext } from '../request-context.ts';
import { isReservedMetaKey } from '../reserved-meta.ts';
import { supportsTasks } from './client-capabilities.ts';
import { logOf } from './logging.ts';

/** What a server may answer with a question. */
const MAY_ASK: readonly CallKind[] = ['tool', 'resource', 'prompt'];
const NOTHING: JsonObject = {};
const VISITED = 'notifications/elicitation/complete';

/** A request of a client as Heddle is asked it: `what` is of the request's parameters, the rest of who asks. */
export function toCall(what: Pick<Call, 'kind' | 'name' | 'input'>, params: JsonObject, asked: RequestContext): Call {
  const { _meta } = params;
  // A completion is asked with all of them.
  const beside = what.kind === 'completion' ? undefined : unknownIn(params);
  const report = progressOf(_meta, asked);
  const log = logOf(_meta, asked);
  const { notifyLater } = asked;
  const capabilities = MAY_ASK.includes(what.kind) ? asked.capabilities : undefined;
  return {
    id: newCallId(),
    kind: what.kind,
    name: what.name,
    input: what.input,
    meta: unreserved(_meta),
    ...(beside && { extraParams: beside }),
    caller: asked.caller,
    options: {},
    signal: asked.signal,
    ...(what.kind === 'tool' && takesTasks(_meta, asked) && { acceptsTask: true }),
    ...(capabilities && { capabilities }),
    ...(asked.paramHeaders && { paramHeaders: asked.paramHeaders }),
    ...(report && { onProgress: report }),
    ...(log && { log }),
    ...(notifyLater &&
      capabilities?.url && { onElicitationComplete: (said: JsonObject) => notifyLater(VISITED, said) }),
  };
}

/** Clients of the older era know nothing of them: we wait in their stead. */
const takesTasks = (meta: unknown, { era }: RequestContext) => era === 'legacy' || supportsTasks(meta);

// A call that says no more than this is the rule, and costs nothing.
const KNOWN = new Set(['name', 'arguments', 'uri', '_meta', 'inputResponses', 'requestState', 'task', 'taskId']);

/** What is neither ours to understand nor, like the wish for a task, between the client and us. */
function unknownIn(params: JsonObject): JsonObject | undefined {
  let found = false;
  for (const key in params) found ||= !KNOWN.has(key);
  return found ? Object.fromEntries(Object.entries(params).filter(([key]) => !KNOWN.has(key))) : undefined;
}

function progressOf(meta: unknown, { notify }: RequestContext): ((progress: Progress) => void) | undefined {
  const progressToken = isObject(meta) ? meta.progressToken : undefined;
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined;
  return (progress) => notify('notifications/progress', { ...progress, progressToken });
}

/** The client's own `_meta`: the envelope and the progress token are between it and us. */
function unreserved(meta: unknown): JsonObject {
  if (!isObject(meta)) return NOTHING;
  const kept = Object.entries(meta).filter(([key]) => key !== 'progressToken' && !isReservedMetaKey(key));
  return kept.length === 0 ? NOTHING : Object.fromEntries(kept);
}
