import type { CatalogOptions, LiveCatalog } from '../catalog/live-catalog.ts';
import type { Feed } from '../core/async/feed.ts';
import { isKeyOf, userKey } from '../core/call/private-user.ts';
import { vaultPrincipal } from '../core/call/vault-principal.ts';
import type { Caller, Role } from '../core/call.ts';
import { ALL_CHANGES, type Change } from '../core/records/server-status.ts';
import type { Notifications } from '../upstream/lifecycle/notifications.ts';
import type { ServersOptions } from '../upstream/servers.ts';

/** Publishes the events and notifications of servers. */
export function changePublishers(
  changes: Feed<Change>,
  notified: Notifications,
): Pick<ServersOptions, 'onStatus' | 'onNotification'> {
  return {
    onStatus(status, event, more) {
      if (event === 'notification') return;
      changes.publish({ kind: 'server', subject: status.name, detail: { ...status, ...more, event } });
    },
    onNotification(server, method, params, user) {
      if (user) return notified.publishPrivate({ server, method, params }, user);
      changes.publish({ kind: 'server', subject: server, detail: { event: 'notification', method, params } });
      notified.publish(server, method, params);
    },
  };
}

/** Publishes changes of the catalog, with the capabilities or the private user that they are limited to. */
export const catalogPublisher =
  (changes: Feed<Change>): CatalogOptions['onChange'] =>
  (subject, { capabilitySet: capabilities, user } = {}) =>
    changes.publish({
      kind: 'catalog',
      subject,
      detail: { ...(capabilities !== undefined && { capabilities }), ...(user && { user: userKey(user) }) },
    });

const ADMINISTRATORS: readonly Role[] = ['owner', 'operator', 'auditor'];
/** The roles that see all approvals. */
export const APPROVAL_READERS: readonly Role[] = ['owner', 'approver', 'auditor'];

/**
 * Returns the changes that a caller may read. Those of a private user are for that principal and the gateway.
 * Those of servers and the configuration are for administrators; `serverVisible` limits them to a profile. Those of an
 * approval are for its requester and the readers of approvals. Those of a budget are for its caller and administrators.
 */
export const changesFor =
  (changes: Feed<Change>, serverVisible: (by: Caller, server: string) => boolean) =>
  (by: Caller, signal: AbortSignal): AsyncIterable<Change> => {
    const administrates = by.roles.some((role) => ADMINISTRATORS.includes(role));
    const readsAll = by.roles.some((role) => APPROVAL_READERS.includes(role));
    const isVisible = (change: Change): boolean => {
      switch (change.kind) {
        case 'config':
          return administrates;
        case 'approval':
          return readsAll || change.detail.requester === vaultPrincipal(by);
        case 'budget':
          return administrates || change.subject === vaultPrincipal(by);
        case 'server':
          return administrates && (by.profile === undefined || serverVisible(by, change.subject));
        default: {
          const { user } = change.detail;
          return user === undefined || by === ALL_CHANGES || isKeyOf(user, by.id);
        }
      }
    };
    return changes.read(signal, isVisible);
  };

type ListHandlers = Pick<
  ServersOptions,
  'onList' | 'onCapabilityTools' | 'onPrivateList' | 'onPrivateEnd' | 'onSignInNeeded'
>;

/** Puts the lists of servers into the catalog: the shared ones, and those of private connections. */
export const listsFor = (catalog: LiveCatalog): ListHandlers => ({
  onList: (server, kind, items) => catalog.update(server, items, kind),
  onCapabilityTools: (server, capabilitySet, tools) => catalog.updateCapabilityTools({ server, capabilitySet, tools }),
  onPrivateList: (server, user, listed) => catalog.privately.put({ server, user, ...listed }),
  onPrivateEnd: (server, user) => catalog.privately.end(server, user),
  onSignInNeeded: (server, user) => catalog.privately.requireSignIn(server, user),
});
