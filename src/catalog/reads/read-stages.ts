import { compose, type Handler, type ResolvedCall } from '../../core/call.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import type { Notifications } from '../../upstream/lifecycle/notifications.ts';
import type { Servers } from '../../upstream/servers.ts';
import { readCache } from './cache.ts';
import { coalesce } from './coalesce.ts';
import { type FollowUpdatesOptions, followUpdates } from './follow-updates.ts';

export interface ReadingOptions extends Pick<FollowUpdatesOptions, 'visible'> {
  readonly servers: Servers;
  readonly heard: Notifications;
  readonly clock?: Clock;
}

/** The innermost handler with what reading needs around it: what may be kept is kept, what is followed is told of. */
export function readStages(invoke: Handler<ResolvedCall>, options: ReadingOptions): Handler<ResolvedCall> {
  const { servers, heard, visible, clock = steadyClock } = options;
  const cache = readCache({ lineOf: servers.shared, clock });
  const together = coalesce();
  const followed = followUpdates({ servers, visible });
  heard.on({ method: 'notifications/resources/list_changed' }, ({ server }) => {
    cache.forget(server);
    together.split(server);
  });
  heard.on({ method: 'notifications/resources/updated' }, ({ server, params }) => {
    cache.forget(server, typeof params.uri === 'string' ? params.uri : undefined);
    together.split(server);
    followed.tell(server, params);
  });
  // Reads on private connections are neither cached nor coalesced.
  heard.onPrivate(({ server, method, params }, user) => {
    if (method === 'notifications/resources/updated') followed.tell(server, params, user);
  });
  return compose([cache.stage, together.stage, followed.stage], invoke);
}
