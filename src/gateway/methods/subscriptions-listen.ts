import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Heddle } from '../../heddle.ts';
import { META } from '../../wire/mcp.ts';
import type { RequestContext } from '../request-context.ts';
import { isChangeVisibleTo, requireTaskSupport } from './client-capabilities.ts';
import { dispatchRead } from './read-methods.ts';
import type { RunCall } from './run-call.ts';
import { toCall } from './to-call.ts';

const LISTS = ['tools', 'resources', 'prompts'] as const;
const MAX_FOLLOWED = 1000;

export interface ListenContext {
  readonly heddle: Heddle;
  readonly bridge: RunCall;
}

/** `subscriptions/listen`: tells a modern client of changes for as long as it listens. */
export async function listenToChanges(
  { heddle, bridge }: ListenContext,
  params: JsonObject,
  client: RequestContext,
): Promise<JsonObject> {
  const wanted = isObject(params.notifications) ? params.notifications : {};
  // Who follows tasks has to know them; none is followed, so clients keep asking.
  if (wanted.taskIds !== undefined) requireTaskSupport(params);
  const _meta = { [META.subscriptionId]: client.id };
  const lists = LISTS.filter((list) => wanted[`${list}ListChanged`] === true);
  const ended = new AbortController();
  const self = { callerId: client.caller.id, capabilities: client.capabilities, era: client.era };
  const asked = { ...client, signal: AbortSignal.any([client.signal, ended.signal]) };
  // Before the acknowledgement: what happens right after it must not be missed.
  const changes = heddle.changes(asked.caller, asked.signal);
  const early = heldBack((update: JsonObject) => asked.notify('notifications/resources/updated', { ...update, _meta }));
  try {
    const uris = await follow(bridge, wanted.resourceSubscriptions, { asked, report: early.tell });
    const honoured = {
      ...Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
    };
    asked.notify('notifications/subscriptions/acknowledged', { notifications: honoured, _meta });
    early.release();
    if (lists.length + uris.length === 0) return { _meta };
    for await (const change of changes) {
      if (change.kind !== 'catalog') continue;
      const { subject } = change;
      const isWanted = lists.some((list) => list === subject) && isChangeVisibleTo(change, self);
      if (isWanted) asked.notify(`notifications/${subject}/list_changed`, { _meta });
    }
    return { _meta };
  } finally {
    ended.abort();
  }
}

interface Reporting {
  readonly asked: RequestContext;
  readonly report: (update: JsonObject) => void;
}

/** Those that could be followed: the others are left out of what is acknowledged. */
async function follow(bridge: RunCall, wanted: unknown, { asked, report }: Reporting): Promise<readonly string[]> {
  const listed = Array.isArray(wanted) ? wanted.filter((uri) => typeof uri === 'string') : [];
  const uris = [...new Set(listed)].slice(0, MAX_FOLLOWED);
  const begun = uris.map(async (name): Promise<readonly string[]> => {
    const call = toCall({ kind: 'subscription', name, input: {} }, {}, asked);
    return dispatchRead(bridge, { ...call, onProgress: report }, asked).then(
      () => [name],
      () => [],
    );
  });
  return (await Promise.all(begun)).flat();
}

/** What comes before the acknowledgement is said after it. */
function heldBack<T>(say: (said: T) => void): { tell(said: T): void; release(): void } {
  let held: T[] | undefined = [];
  return {
    tell(said) {
      if (held) held.push(said);
      else say(said);
    },
    release() {
      for (const said of held ?? []) say(said);
      held = undefined;
    },
  };
}
