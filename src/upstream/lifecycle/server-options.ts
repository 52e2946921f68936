import type { PrivateUser } from '../../core/call/private-user.ts';
import type { JsonObject } from '../../core/call.ts';
import type { ServerEvent, ServerStatus } from '../../core/records/server-status.ts';
import type { Time } from '../../core/time.ts';
import type { ServerMemory } from '../../store/server-book.ts';
import type { Connection, ListKind } from '../connection.ts';
import type { ServerPlan } from './plan-server.ts';
import type { PrivateConnections, SoleUser } from './private-connections.ts';
import type { ServerSubscriptions } from './subscriptions.ts';

/** What a server needs, and whom it tells. */
export interface ServerOptions {
  readonly plan: ServerPlan;
  readonly known: ServerMemory | undefined;
  /** What it listed to those who can be asked something. */
  readonly knownAble: readonly ServerMemory[];
  readonly limited: <T>(task: () => Promise<T>) => Promise<T>;
  readonly lines: PrivateConnections;
  readonly subscriptions: ServerSubscriptions;
  readonly user: SoleUser | undefined;
  readonly time: Time;
  readonly onStatus: (status: ServerStatus, event: ServerEvent, detail?: JsonObject) => void;
  readonly onList: (kind: ListKind, items: readonly JsonObject[]) => void;
  /** Told what it lists to those who can be asked this. */
  readonly onAbleTools: (abilities: number, tools: readonly JsonObject[]) => void;
  /** Receives each list of a private connection, for its user alone. */
  readonly onPrivateList: (user: PrivateUser, kind: ListKind, items: readonly JsonObject[]) => void;
  readonly onPrivateEnd: (user: PrivateUser) => void;
  /** `user` is given for a notification on a private connection. */
  readonly onNotification: (method: string, params: JsonObject, user?: PrivateUser) => void;
  readonly remember: (memory: ServerMemory) => void;
}

/** A main line that is being opened. */
export interface Attempt {
  readonly promise: Promise<Connection>;
  readonly abort: AbortController;
}
