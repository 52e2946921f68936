import type { Caller, JsonObject } from '../call.ts';
import type { ErrorCode } from '../errors.ts';
import type { Metrics } from './metrics.ts';

/** How one configured server is doing. */
export interface ServerStatus {
  readonly name: string;
  /** Where the entry was written: `project`, `user`, `builtin`, … */
  readonly scope: string;
  readonly transport: string;
  readonly state: 'disabled' | 'pending' | 'connected' | 'failed' | 'needs-auth';
  readonly reason?: string;
  /** Of one that cannot be used: the code of what is wrong. */
  readonly code?: ErrorCode;
  readonly fix?: string;
  /** Attempt n of m; 0 = not started. */
  readonly attempt: readonly [number, number];
  /** When the next attempt is made by itself, in milliseconds since the epoch. */
  readonly retryAt?: number;
  /** Of a failed server: from when on a call to it tries once more, in milliseconds since the epoch. */
  readonly retryFrom?: number;
  readonly health: 'ok' | 'unhealthy' | 'unknown';
  readonly sandbox: 'enforced' | 'unsandboxed' | 'none';
  /** How many of each it has, or had when it was last seen. */
  readonly tools?: number;
  readonly resources?: number;
  readonly templates?: number;
  readonly prompts?: number;
  /** How its calls have ended so far, those of earlier runs included. */
  readonly metrics?: Metrics;
  /** Lines opened for single users besides the common one. */
  readonly privateConnections?: number;
  /** Of a connected server: serverInfo, capabilities, instructions, protocolVersion, era, connectMs. */
  readonly info?: JsonObject;
}

/** What can happen to a server: it came or went, it changed its state, or it said something. */
export type ServerEvent =
  | 'registered'
  | ServerStatus['state']
  | 'disconnected'
  | 'health'
  | 'list-changed'
  | 'notification'
  | 'closed';

/** A change of a server, of the catalog or of the configuration. */
export type Change = ServerChange | CatalogChange | ConfigChange;

/** An event of one server. */
export interface ServerChange {
  readonly kind: 'server';
  /** Name of the server. */
  readonly subject: string;
  readonly detail: ServerStatusDetail | ServerNotificationDetail;
}

/** The status of a server after an event. */
export interface ServerStatusDetail extends ServerStatus {
  readonly event: Exclude<ServerEvent, 'notification'>;
  /** The changed list, for the event `list-changed`. */
  readonly list?: string;
}

/** A notification that a server sent. */
export interface ServerNotificationDetail {
  readonly event: 'notification';
  readonly method: string;
  readonly params: JsonObject;
}

/** A change of the entries that callers see. */
export interface CatalogChange {
  readonly kind: 'catalog';
  readonly subject: 'tools' | 'resources' | 'prompts';
  readonly detail: {
    /** Affects only clients with these capabilities, as `capabilitiesKey` encodes them. */
    readonly capabilities?: number;
    /** Affects only the private user with this key. Only that principal reads the change. */
    readonly user?: string;
  };
}

/** A new active configuration. */
export interface ConfigChange {
  readonly kind: 'config';
  readonly subject: 'configuration';
  readonly detail: { readonly problems: number };
}

/** The gateway itself, by identity: it reads the changes of all private users and sends each to its own clients. */
export const ALL_CHANGES: Caller = { id: 'gateway', roles: [], via: 'gateway' };
