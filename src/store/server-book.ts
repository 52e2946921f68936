import type { Extensions, JsonObject } from '../core/call.ts';
import type { ErrorCode } from '../core/error-codes.ts';

/** The lists, the era and the transport of a server, as of its last connection. */
export interface CachedServer {
  readonly server: string;
  /** The signature of the entry that was connected. Another command or URL is another server. */
  readonly signature: string;
  /** The client capabilities of the listing (`capabilitiesKey`). Some servers list more tools to capable clients. */
  readonly capabilitySet: number;
  readonly era: 'legacy' | 'modern';
  /** The transport, if it was found out at the connect: `url` without a fixed one. */
  readonly urlTransport?: 'http' | 'sse';
  /** The time at which the era was probed. */
  readonly at: number;
  /** The instructions of the last handshake, without control characters; absent if there were none. */
  readonly instructions?: string;
  /** The extensions that the server declared in the handshake; absent if there were none. */
  readonly extensions?: Extensions;
  /** The lists, unchanged. */
  readonly lists: Readonly<Record<'tools' | 'resources' | 'templates' | 'prompts', readonly JsonObject[]>>;
}

/** Stores server lists, so that a server is listed before it starts and its era is not probed again. */
export interface ServerBook {
  all(): Promise<readonly CachedServer[]>;
  /** Replaces the lists of the same server and the same capabilities. */
  remember(memory: CachedServer): Promise<void>;
  /** Removes the lists of a server for one capability set. */
  forget(entry: Pick<CachedServer, 'server' | 'capabilitySet'>): Promise<void>;
}

/** The last failed attempt to connect a server. */
export interface ServerFailure {
  readonly server: string;
  /** The signature of the entry that failed. Another command or URL is another server. */
  readonly signature: string;
  readonly at: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly fix: string;
}

/** Stores failed connections for an hour, so that the next command shows them and need not wait again. */
export interface FailureBook {
  all(): Promise<readonly ServerFailure[]>;
  put(failure: ServerFailure): Promise<void>;
  /** Removes the failure of a server that has connected. */
  remove(failure: Pick<ServerFailure, 'server' | 'signature'>): Promise<void>;
}
