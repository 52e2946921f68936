import type { JsonObject } from './call.ts';

/** How one configured server is doing. */
export interface ServerStatus {
  readonly name: string;
  /** Where the entry was written: `project`, `user`, `builtin`, … */
  readonly scope: string;
  readonly transport: string;
  readonly state: 'disabled' | 'pending' | 'connected' | 'failed' | 'needs-auth';
  readonly reason?: string;
  readonly fix?: string;
  /** Attempt n of m; 0 = not started. */
  readonly attempt: readonly [number, number];
  readonly health: 'ok' | 'unhealthy' | 'unknown';
  readonly sandbox: 'enforced' | 'unsandboxed' | 'none';
  /** How many tools it has, or had when it was last seen. */
  readonly tools?: number;
  /** Of a connected server: serverInfo, capabilities, instructions, protocolVersion, era, connectMs. */
  readonly info?: JsonObject;
}

/** Something happened to a server, to the catalog or to the configuration. */
export interface Change {
  readonly kind: 'server' | 'catalog' | 'config';
  readonly subject: string;
  readonly detail: JsonObject;
}
