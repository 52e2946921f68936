import type { JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Clock } from '../../core/time.ts';
import { META } from '../../wire/mcp.ts';
import type { Peer } from '../../wire/peer.ts';
import type { Agreement } from '../connection.ts';
import { toFailure } from '../failure.ts';
import { type Delay, ListenStream } from './listen-stream.ts';

export interface FollowChangesOptions {
  readonly server: string;
  readonly agreement: Agreement;
  /** Receives notifications that belong to no call, in both eras in the legacy form. */
  readonly onNotification: (method: string, params: JsonObject) => void;
  readonly wait?: Delay;
  readonly clock?: Clock;
}

/** The change notifications and resource subscriptions of one connection. */
export interface ChangeSource {
  /** Takes every notification that belongs to no call. */
  onNotification(method: string, params: JsonObject, relatedRequestId: number | undefined): void;
  subscribe(uri: string, signal: AbortSignal): Promise<void>;
  unsubscribe(uri: string, signal: AbortSignal): Promise<void>;
  /** Ends `subscriptions/listen`. Must be called before waiting for an idle peer: the request never ends by itself. */
  close(): void;
}

const REQUEST_MS = 15_000;
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const UPDATED = 'notifications/resources/updated';
const LISTS = ['tools', 'prompts', 'resources'] as const;

/** Follows the changes of a server: a legacy server sends them unasked, a modern one on `subscriptions/listen`. */
export function followChanges(peer: Peer, options: FollowChangesOptions): ChangeSource {
  return options.agreement.era === 'modern' ? followModern(peer, options) : followLegacy(peer, options);
}

function followLegacy(peer: Peer, { server, agreement, onNotification }: FollowChangesOptions): ChangeSource {
  async function request(method: string, uri: string, signal: AbortSignal): Promise<void> {
    if (!declares(agreement, 'resources', 'subscribe')) throw notSupported(server);
    try {
      await peer.request(method, { uri }, { deadlineMs: REQUEST_MS, signal });
    } catch (thrown) {
      throw toFailure(server, thrown);
    }
  }
  return {
    onNotification: (method, params) => onNotification(method, params),
    subscribe: (uri, signal) => request('resources/subscribe', uri, signal),
    unsubscribe: (uri, signal) => request('resources/unsubscribe', uri, signal),
    close() {},
  };
}

function followModern(
  peer: Peer,
  { server, agreement, onNotification, wait, clock }: FollowChangesOptions,
): ChangeSource {
  const lists = LISTS.filter((list) => declares(agreement, list, 'listChanged'));
  const listening = new ListenStream(peer, {
    server,
    lists: Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true])),
    onGap(uris) {
      for (const list of lists) onNotification(`notifications/${list}/list_changed`, {});
      for (const uri of uris) onNotification(UPDATED, { uri });
    },
    wait,
    clock,
  });
  return {
    onNotification(method, params, relatedRequestId) {
      const { [META.subscriptionId]: tag = method === ACKNOWLEDGED ? relatedRequestId : undefined, ...meta } =
        metaOf(params);
      if (tag === undefined) onNotification(method, params);
      else if (typeof tag !== 'number')
        return; // Our request ids are numbers: this is none of our requests.
      else if (method === ACKNOWLEDGED) listening.acknowledge(tag, params.notifications);
      else if (listening.isCurrent(tag)) onNotification(method, withMeta(params, meta));
    },
    async subscribe(uri, signal) {
      if (!declares(agreement, 'resources', 'subscribe')) throw notSupported(server);
      await listening.subscribe(uri, signal);
    },
    async unsubscribe(uri) {
      listening.unsubscribe(uri);
    },
    close: () => listening.close(),
  };
}

function declares({ capabilities }: Agreement, kind: string, feature: string): boolean {
  const declared = capabilities[kind];
  return isObject(declared) && declared[feature] === true;
}

const metaOf = ({ _meta }: JsonObject): JsonObject => (isObject(_meta) ? _meta : {});

function withMeta({ _meta, ...params }: JsonObject, meta: JsonObject): JsonObject {
  return Object.keys(meta).length === 0 ? params : { ...params, _meta: meta };
}

const notSupported = (server: string) =>
  new UpstreamError('UPSTREAM_REFUSED', `${server} does not offer subscriptions to its resources.`, {
    delivered: 'no',
    fix: 'Read the resource again when you need it.',
  });
