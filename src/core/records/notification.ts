import type { JsonObject } from '../call.ts';

/** What a server said of its own accord. */
export interface Notification {
  readonly server: string;
  readonly method: string;
  /** As the server wrote them. */
  readonly params: JsonObject;
}

/** Which notifications are wanted; all of them where nothing is said. */
export interface NotificationFilter {
  readonly server?: string;
  readonly method?: string;
}

export type NotificationHandler = (notification: Notification) => void | Promise<void>;
