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

/**
 * Something happened to a server, to the catalog or to the configuration. Of a server, `detail.event` is a
 * `ServerEvent`; beside it are its status, for `list-changed` also `list`, and for `notification` only `method` and `params`.
 * Of the catalog, `subject` says what is other than before: `tools`, `resources` or `prompts`; with
 * `detail.abilities`, only for those who can be asked this, as `abilitiesKey` says it; with `detail.user`, only for the
 * private user of that key, and read by that principal alone.
 */
export interface Change {
  readonly kind: 'server' | 'catalog' | 'config';
  readonly subject: string;
  readonly detail: JsonObject;
}

/** The gateway itself, by identity: it reads the changes of all private users and sends each to its own clients. */
export const ALL_CHANGES: Caller = { id: 'gateway', roles: [], via: 'gateway' };
