import type { PrivateUser } from '../../core/call/private-user.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Notification, NotificationFilter, NotificationHandler } from '../../core/records/notification.ts';

/** Passes notifications of servers on to handlers. */
export interface Notifications {
  /** Adds a handler; the returned function removes it. */
  on(filter: NotificationFilter, handler: NotificationHandler): () => void;
  publish(server: string, method: string, params: JsonObject): void;
  /** Receives the notifications of private connections, each with its user. No other handler receives them. */
  onPrivate(handler: PrivateHandler): void;
  publishPrivate(notification: Notification, user: PrivateUser): void;
}

type PrivateHandler = (notification: Notification, user: PrivateUser) => void;

interface Listener extends NotificationFilter {
  readonly handler: NotificationHandler;
}

/** Opens a dispatcher. A handler that throws is reported to `trouble` and disturbs no other. */
export function notifications(trouble: (thrown: unknown) => void = () => {}): Notifications {
  const listeners = new Set<Listener>();
  const privateHandlers = new Set<PrivateHandler>();

  async function deliver({ handler }: Listener, notification: Notification): Promise<void> {
    try {
      await handler(notification);
    } catch (thrown) {
      trouble(thrown);
    }
  }

  return {
    onPrivate: (handler) => void privateHandlers.add(handler),
    publishPrivate(notification, user) {
      for (const handler of privateHandlers) handler(notification, user);
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
    publish(server, method, params) {
      const matching = [...listeners].filter(
        (one) => (one.server ?? server) === server && (one.method ?? method) === method,
      );
      for (const listener of matching) void deliver(listener, { server, method, params });
    },
  };
}

// Methods of MCP requests. A careless server would execute them without an id, and no stage would have checked them.
const REQUESTS =
  /^(?:initialize$|ping$|(?:completion|elicitation|logging|prompts|resources|roots|sampling|server|skills|subscriptions|tasks|tools)\/)/;
// Notifications that only Heddle sends: they cancel calls or report their progress.
const RESERVED = new Set(['notifications/initialized', 'notifications/cancelled', 'notifications/progress']);

/** Throws INPUT_INVALID for a method that a program may not send as a notification. `isRequest` finds those of extensions. */
export function requireCustom(method: string, isRequest: (method: string) => boolean): void {
  if (method !== '' && !REQUESTS.test(method) && !RESERVED.has(method) && !isRequest(method)) return;
  throw new HeddleError('INPUT_INVALID', `${method || 'An empty name'} cannot be sent as a notification.`, {
    fix: 'Use `call` for tools; a notification of your own has a name that MCP does not use.',
  });
}
