import type { JsonObject } from '../../../core/call.ts';
import type { Connection, ListKind } from '../../connection.ts';
import { type RefreshListsOptions, refreshLists } from '../refresh-lists.ts';
import type { Subscriptions } from '../subscriptions.ts';

export interface PrivateFeedOptions extends Pick<RefreshListsOptions, 'clock' | 'timer' | 'signal'> {
  readonly subscriptions: Subscriptions;
  readonly onList: (kind: ListKind, items: readonly JsonObject[]) => void;
  readonly onNotification: (method: string, params: JsonObject) => void;
  /** Receives the failure of a list. */
  readonly onFailure?: (thrown: unknown) => void;
  readonly onEnd: () => void;
}

/** The lists, subscriptions and notifications of one private connection, for its user alone. */
export interface PrivateFeed {
  onNotification(method: string, params: JsonObject): void;
  /** Settles when the first lists have arrived or failed. */
  readonly listed: Promise<void>;
  /** Fetches lists that are missing or known to have changed; undefined when there are none. */
  settle(): Promise<void> | undefined;
  /** True while a client is subscribed to a resource. */
  isWanted(): boolean;
  end(): void;
}

/** Follows what changes on a private connection until `end` is called. */
export function privateFeed(connection: Connection, options: PrivateFeedOptions): PrivateFeed {
  const { subscriptions, onNotification, onFailure = () => {}, onEnd, ...refresh } = options;
  const lists = refreshLists({ ...refresh, onFailure: (_, thrown) => onFailure(thrown) });
  // A first list that fails is fetched again, like after a change.
  const retry = (thrown: unknown) => {
    onFailure(thrown);
    lists.onNotification('notifications/tools/list_changed');
  };
  let isListed = false;
  const listed = lists
    .begin(connection, refresh.signal)
    .catch(retry)
    .finally(() => (isListed = true));
  void subscriptions.attach(connection);
  let ended = false;
  return {
    listed,
    settle: () => (isListed ? lists.settle() : listed),
    isWanted: subscriptions.hasSubscribers,
    onNotification(method, params) {
      if (ended) return;
      lists.onNotification(method);
      onNotification(method, params);
    },
    end() {
      if (ended) return;
      ended = true;
      lists.close();
      subscriptions.detach();
      onEnd();
    },
  };
}
