import type { DecidedCall, Stage } from '../../core/call.ts';
import { isViewUri } from '../../core/text/view-uri.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import type { Notifications } from '../../upstream/lifecycle/notifications.ts';
import type { Servers } from '../../upstream/servers.ts';
import type { LiveCatalog } from '../live-catalog.ts';
import { withNamedContents } from '../views/name-links.ts';
import { readCache } from './cache.ts';
import { coalesce } from './coalesce.ts';
import { type FollowUpdatesOptions, followUpdates } from './follow-updates.ts';

export interface ReadStageOptions extends Pick<FollowUpdatesOptions, 'visible'> {
  readonly catalog: Pick<LiveCatalog, 'current'>;
  readonly servers: Servers;
  readonly notifications: Notifications;
  readonly clock?: Clock;
}

/** Builds the stages for reads and connects them to the notifications of servers about resources. */
export function readStages({ catalog, servers, notifications, visible, clock = steadyClock }: ReadStageOptions) {
  const cache = readCache({ connectionOf: servers.cacheable, isPerUser: servers.hasUserCredentials, clock });
  const coalesced = coalesce(servers.hasUserCredentials);
  const subscriptions = followUpdates({ servers, visible });
  notifications.on({ method: 'notifications/resources/list_changed' }, ({ server }) => {
    cache.invalidate({ server });
    coalesced.split(server);
  });
  notifications.on({ method: 'notifications/resources/updated' }, ({ server, params }) => {
    cache.invalidate({ server, ...(typeof params.uri === 'string' && { uri: params.uri }) });
    coalesced.split(server);
    subscriptions.publish(server, params);
  });
  // A private connection caches reads only with per-user credentials, each for its own user.
  notifications.onPrivate(({ server, method, params }, user) => {
    const { principal } = user;
    if (method === 'notifications/resources/list_changed') cache.invalidate({ server, principal });
    if (method !== 'notifications/resources/updated') return;
    cache.invalidate({ server, principal, ...(typeof params.uri === 'string' && { uri: params.uri }) });
    subscriptions.publish(server, params, user);
  });
  return {
    cache(call, next) {
      const result = cache.stage(call, next);
      if (call.kind !== 'resource' || !isViewUri(call.target.name)) return result;
      const { resources } = catalog.current(call.caller);
      return result.then((complete) => withNamedContents(call, complete, resources.nameOf));
    },
    coalesce: coalesced.stage,
    followUpdates: subscriptions.stage,
  } satisfies Readonly<Record<string, Stage<DecidedCall>>>;
}
