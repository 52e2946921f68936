import type { PrivateUser } from '../../core/call/private-user.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Notification, NotificationFilter, NotificationHandler } from '../../core/records/notification.ts';

/** Brings what servers say to whoever wants to hear it. */
export interface Notifications {
  /** Hears until the function that comes back is called. */
  on(filter: NotificationFilter, handler: NotificationHandler): () => void;
  tell(server: string, method: string, params: JsonObject): void;
  /** Receives the notifications of private connections, each with its user. No other handler receives them. */
  onPrivate(handler: PrivateHandler): void;
  tellPrivately(notification: Notification, user: PrivateUser): void;
}

type PrivateHandler = (notification: Notification, user: PrivateUser) => void;

interface Listener extends NotificationFilter {
  readonly handler: NotificationHandler;
}

/** Opens a dispatcher. A handler that throws is reported to `trouble` and disturbs no other. */
export function notifications(trouble: (thrown: unknown) => void = () => {}): Notifications {
  const listeners = new Set<Listener>();
  const privately = new Set<PrivateHandler>();

  async function hand({ handler }: Listener, notification: Notification): Promise<void> {
    try {
      await handler(notification);
    } catch (thrown) {
      trouble(thrown);
    }
  }

  return {
    onPrivate: (handler) => void privately.add(handler),
    tellPrivately(notification, user) {
      for (const handler of privately) handler(notification, user);
    },
    on({ server, method }, handler) {
      const listener: Listener = {
        ...(server !== undefined && { server }),
        ...(method !== undefined && { method }),
        handler,
      };
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tell(server, method, params) {
      const fits = [...listeners].filter(
        (one) => (one.server ?? server) === server && (one.method ?? method) === method,
      );
      for (const listener of fits) void hand(listener, { server, method, params });
    },
  };
}

// What MCP asks by request. Sent without an id, a careless server would carry it out, and no rule would have seen it.
const REQUESTS =
  /^(?:initialize$|ping$|(?:completion|elicitation|logging|prompts|resources|roots|sampling|server|subscriptions|tasks|tools)\/)/;
// Heddle's own part of the conversation: they end or steer the calls of others.
const RESERVED = new Set(['notifications/initialized', 'notifications/cancelled', 'notifications/progress']);

/** Throws INPUT_INVALID for what a program may not say to a server as a notification of its own. */
export function requireCustom(method: string): void {
  if (method !== '' && !REQUESTS.test(method) && !RESERVED.has(method)) return;
  throw new HeddleError('INPUT_INVALID', `${method || 'An empty name'} cannot be sent as a notification.`, {
    fix: 'Use `call` for tools; a notification of your own has a name that MCP does not use.',
  });
}
