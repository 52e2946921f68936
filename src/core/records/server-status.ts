import type { Caller, JsonObject } from '../call.ts';
import type { ErrorCode } from '../error-codes.ts';
import type { ApprovalStatus } from './approval.ts';
import type { BudgetStatus } from './budget.ts';
import type { Metrics } from './metrics.ts';

/** The state of one configured server. */
export interface ServerStatus {
  readonly name: string;
  /** The source of the entry: `project`, `user`, `builtin`, … */
  readonly scope: string;
  readonly transport: string;
  readonly state: 'disabled' | 'pending' | 'connected' | 'failed' | 'needs-auth';
  readonly reason?: string;
  /** The error code of a server that cannot be used. */
  readonly code?: ErrorCode;
  readonly fix?: string;
  /** Attempt n of m; 0 = not started. */
  readonly attempt: readonly [number, number];
  /** The time of the next automatic attempt, in milliseconds since the epoch. */
  readonly retryAt?: number;
  /** For a failed server: the time from which a call tries to connect again, in milliseconds since the epoch. */
  readonly retryFrom?: number;
  /** For a failed server: the time of the failure, perhaps in an earlier process. Then `attempt` is [0, 1]. */
  readonly failedAt?: number;
  readonly health: 'ok' | 'unhealthy' | 'unknown';
  readonly sandbox: 'enforced' | 'unsandboxed' | 'none';
  /** The number of entries of each kind, now or at the last connection. */
  readonly tools?: number;
  readonly resources?: number;
  readonly templates?: number;
  readonly prompts?: number;
  /** The metrics of its calls, those of earlier processes included. */
  readonly metrics?: Metrics;
  /** The number of private connections besides the shared one. */
  readonly privateConnections?: number;
  /** For a connected server: serverInfo, capabilities, instructions, protocolVersion, era, connectMs. */
  readonly info?: JsonObject;
}

/** Tests whether a server has failed in an earlier process, and was not tried in this one. */
export const isEarlierFailure = ({ state, attempt: [attempt], failedAt }: ServerStatus): boolean =>
  state === 'failed' && attempt === 0 && failedAt !== undefined;

/** The kinds of server events: registered or closed, a new state, or a notification. */
export type ServerEvent =
  | 'registered'
  | ServerStatus['state']
  | 'disconnected'
  | 'health'
  | 'list-changed'
  | 'notification'
  | 'closed';

/** A change of a server, of the catalog, of the configuration or of an approval, or a budget that is nearly used up. */
export type Change = ServerChange | CatalogChange | ConfigChange | ApprovalChange | BudgetChange;

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

/** A new or changed approval. Owners, approvers, auditors and its requester read it. */
export interface ApprovalChange {
  readonly kind: 'approval';
  /** Id of the approval. */
  readonly subject: string;
  readonly detail: {
    readonly status: ApprovalStatus;
    /** The principal of the requester, as `vaultPrincipal` returns it. */
    readonly requester: string;
  };
}

/** A caller has spent the share `budgets.warnAt` of its budget. Administrators and the caller itself read it. */
export interface BudgetChange {
  readonly kind: 'budget';
  /** The principal, as `vaultPrincipal` returns it. */
  readonly subject: string;
  readonly detail: BudgetStatus;
}

/** The gateway as a caller, compared by identity. It reads the changes of all private users and forwards each to its clients. */
export const ALL_CHANGES: Caller = { id: 'gateway', roles: [], via: 'gateway' };
