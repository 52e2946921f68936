import type { CatalogOptions, LiveCatalog } from '../catalog/live-catalog.ts';
import type { Feed } from '../core/async/feed.ts';
import { isKeyOf, userKey } from '../core/call/private-user.ts';
import type { Caller, JsonObject } from '../core/call.ts';
import { ALL_CHANGES, type Change, type ServerEvent } from '../core/records/server-status.ts';
import type { Notifications } from '../upstream/lifecycle/notifications.ts';
import type { ServersOptions } from '../upstream/servers.ts';

/** Tells those who listen what happens to servers, and what they say. */
export function changePublishers(
  changes: Feed<Change>,
  heard: Notifications,
): Pick<ServersOptions, 'onStatus' | 'onNotification'> {
  const publish = (subject: string, event: ServerEvent, detail: JsonObject) =>
    changes.publish({ kind: 'server', subject, detail: { ...detail, event } });
  return {
    onStatus: (status, event, more) => publish(status.name, event, { ...status, ...more }),
    onNotification(server, method, params, user) {
      if (user) return heard.tellPrivately({ server, method, params }, user);
      publish(server, 'notification', { method, params });
      heard.tell(server, method, params);
    },
  };
}

/** Tells them what is other than before in the catalog, and for whom if not for everybody. */
export const catalogPublisher =
  (changes: Feed<Change>): CatalogOptions['onChange'] =>
  (subject, { abilities, user } = {}) =>
    changes.publish({
      kind: 'catalog',
      subject,
      detail: { ...(abilities !== undefined && { abilities }), ...(user && { user: userKey(user) }) },
    });

/** Returns the changes that a caller may read. Those of a private user are for that principal and the gateway. */
export const changesFor =
  (changes: Feed<Change>) =>
  (by: Caller, signal: AbortSignal): AsyncIterable<Change> =>
    changes.read(signal, ({ kind, detail: { user } }) => {
      return kind !== 'catalog' || typeof user !== 'string' || by === ALL_CHANGES || isKeyOf(user, by.id);
    });

type ListHandlers = Pick<ServersOptions, 'onList' | 'onAbleTools' | 'onPrivateList' | 'onPrivateEnd'>;

/** Puts the lists of servers into the catalog: the shared ones, and those of private connections. */
export const listsFor = (catalog: LiveCatalog): ListHandlers => ({
  onList: (server, kind, items) => catalog.update(server, items, kind),
  onAbleTools: (server, abilities, tools) => catalog.updateAble({ server, abilities, tools }),
  onPrivateList: (server, user, listed) => catalog.privately.put({ server, user, ...listed }),
  onPrivateEnd: (server, user) => catalog.privately.end(server, user),
});
