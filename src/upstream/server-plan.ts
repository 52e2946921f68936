import type { HeddleError } from '../core/errors.ts';
import type { ProtocolVersion } from '../core/protocol-versions.ts';
import type { ServerStatus } from '../core/server-status.ts';
import type { Connect } from './connection.ts';

/** One configured server, before anything is known of it but its entry. */
export interface ServerPlan {
  readonly name: string;
  readonly scope: string;
  readonly transport: string;
  readonly sandbox: ServerStatus['sandbox'];
  /** Another command or URL is another server: nothing is remembered across. */
  readonly signature: string;
  /** Of the whole entry: with another one the server is started anew. */
  readonly revision: string;
  /** Child processes are started a few at a time. */
  readonly local: boolean;
  readonly autoConnect: boolean;
  /** How a lost server is tried again, and how soon a call may try a failed one. */
  readonly reconnect: { readonly maxAttempts: number; readonly delayMs: number };
  /** Deadline of its handshake and of each request for a list, in force when it is read. */
  readonly connectTimeoutMs: number;
  /** The only version to speak with it, where its entry fixes one. */
  readonly protocol?: ProtocolVersion | undefined;
  /** How to reach it, or why it cannot be. */
  readonly connect: Connect | HeddleError;
}
