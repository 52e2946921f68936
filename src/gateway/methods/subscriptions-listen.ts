import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Heddle } from '../../heddle.ts';
import { META } from '../../wire/mcp.ts';
import type { RequestContext } from '../request-context.ts';
import { type ChangeListener, isChangeVisibleTo, narrowExtensions, requireTaskSupport } from './client-capabilities.ts';
import { dispatchRead } from './read-methods.ts';
import type { RunCall } from './run-call.ts';
import { toCall } from './to-call.ts';

const LISTS = ['tools', 'resources', 'prompts'] as const;
const MAX_SUBSCRIPTIONS = 1000;

export interface ListenContext {
  readonly heddle: Heddle;
  readonly runCall: RunCall;
}

/** Handles `subscriptions/listen`: sends a modern client its change notifications until it cancels the request. */
export async function listenToChanges(
  { heddle, runCall }: ListenContext,
  params: JsonObject,
  client: RequestContext,
): Promise<JsonObject> {
  const wanted = isObject(params.notifications) ? params.notifications : {};
  // `taskIds` requires the tasks extension. The acknowledgement contains none, so clients keep polling.
  if (wanted.taskIds !== undefined) requireTaskSupport(params);
  const _meta = { [META.subscriptionId]: client.id };
  const lists = LISTS.filter((list) => wanted[`${list}ListChanged`] === true);
  const ended = new AbortController();
  const self = (): ChangeListener => ({
    callerId: client.caller.id,
    capabilities: narrowExtensions(client.declared, heddle.catalog),
    era: client.era,
  });
  const context = { ...client, signal: AbortSignal.any([client.signal, ended.signal]) };
  // Opened before the acknowledgement, so that no change after it is missed.
  const changes = heddle.changes(context.caller, context.signal);
  const updates = deferUntilReleased((update: JsonObject) =>
    context.notify('notifications/resources/updated', { ...update, _meta }),
  );
  try {
    const uris = await subscribe(runCall, wanted.resourceSubscriptions, { context, onUpdate: updates.push });
    const accepted = {
      ...Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
    };
    context.notify('notifications/subscriptions/acknowledged', { notifications: accepted, _meta });
    updates.release();
    if (lists.length + uris.length === 0) return { _meta };
    for await (const change of changes) {
      if (change.kind !== 'catalog') continue;
      const { subject } = change;
      const isWanted = lists.some((list) => list === subject) && isChangeVisibleTo(change, self());
      if (isWanted) context.notify(`notifications/${subject}/list_changed`, { _meta });
    }
    return { _meta };
  } finally {
    ended.abort();
  }
}

interface SubscribeOptions {
  readonly context: RequestContext;
  readonly onUpdate: (update: JsonObject) => void;
}

/** Subscribes to the URIs and returns those that succeeded. Only these are acknowledged. */
async function subscribe(
  runCall: RunCall,
  wanted: unknown,
  { context, onUpdate }: SubscribeOptions,
): Promise<readonly string[]> {
  const listed = Array.isArray(wanted) ? wanted.filter((uri) => typeof uri === 'string') : [];
  const uris = [...new Set(listed)].slice(0, MAX_SUBSCRIPTIONS);
  const subscribed = uris.map(async (name): Promise<readonly string[]> => {
    const call = toCall({ kind: 'subscription', name, input: {} }, {}, context);
    return dispatchRead(runCall, { ...call, onProgress: onUpdate }, context).then(
      () => [name],
      () => [],
    );
  });
  return (await Promise.all(subscribed)).flat();
}

/** Queues items until `release`: updates must not come before the acknowledgement. */
function deferUntilReleased<T>(send: (item: T) => void): { push(item: T): void; release(): void } {
  let queued: T[] | undefined = [];
  return {
    push(item) {
      if (queued) queued.push(item);
      else send(item);
    },
    release() {
      for (const item of queued ?? []) send(item);
      queued = undefined;
    },
  };
}
