import type { JsonObject } from '../call.ts';

/** A notification that a server sent. */
export interface Notification {
  readonly server: string;
  readonly method: string;
  /** The params exactly as the server sent them. */
  readonly params: JsonObject;
}

/** A filter of notifications; an absent field matches all. */
export interface NotificationFilter {
  readonly server?: string;
  readonly method?: string;
}

export type NotificationHandler = (notification: Notification) => void | Promise<void>;
