import type { PrivateUser } from '../../core/call/private-user.ts';
import type { JsonObject } from '../../core/call.ts';
import type { ServerEvent, ServerStatus } from '../../core/records/server-status.ts';
import type { Time } from '../../core/time.ts';
import type { Connection, ListKind } from '../connection.ts';
import type { ServerPlan } from './plan-server.ts';
import type { ServerCache } from './server-cache.ts';
import type { SoleUser } from './shared-connection.ts';
import type { ServerSubscriptions } from './subscriptions.ts';

/** Everything that a `Server` needs, and the callbacks that receive its lists, notifications and states. */
export interface ServerOptions {
  readonly plan: ServerPlan;
  readonly cache: ServerCache;
  /** Runs a connect when fewer than the allowed number of connects are running. */
  readonly limited: <T>(task: () => Promise<T>) => Promise<T>;
  readonly subscriptions: ServerSubscriptions;
  readonly user: SoleUser | undefined;
  readonly time: Time;
  readonly onStatus: (status: ServerStatus, event: ServerEvent, detail?: JsonObject) => void;
  readonly onList: (kind: ListKind, items: readonly JsonObject[]) => void;
  /** Receives the tools that the server lists to clients with this capability set. */
  readonly onCapabilityTools: (capabilitySet: number, tools: readonly JsonObject[]) => void;
  /** Receives each list of a private connection, for its user alone. */
  readonly onPrivateList: (user: PrivateUser, kind: ListKind, items: readonly JsonObject[]) => void;
  readonly onPrivateEnd: (user: PrivateUser) => void;
  /** Called when a user of a server with per-user credentials has to sign in. Its lists are no longer valid. */
  readonly onSignInNeeded: (user: PrivateUser) => void;
  /** `user` is given for a notification on a private connection. */
  readonly onNotification: (method: string, params: JsonObject, user?: PrivateUser) => void;
}

/** A shared connection that is being opened. */
export interface ConnectAttempt {
  readonly promise: Promise<Connection>;
  readonly abort: AbortController;
  readonly startedAt: number;
}
