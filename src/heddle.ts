import type { Config } from './config/config.ts';
import type { Settings } from './config/schema/schema.ts';
import type { Caller, CatalogKind, Handler, JsonObject, Target } from './core/call.ts';
import type { ApiKey } from './core/records/api-key.ts';
import type {
  Approval,
  ApprovalOfCall,
  ApprovalQuery,
  ApprovalVerdict,
  StandingApproval,
} from './core/records/approval.ts';
import type { ApprovalCount } from './core/records/approval-count.ts';
import type { AuditEntry, AuditHead, AuditSearch, AuditVerification } from './core/records/audit-entry.ts';
import type { BudgetStatus } from './core/records/budget.ts';
import type { CallStats } from './core/records/call-stats.ts';
import type { Finding } from './core/records/finding.ts';
import type { Category, Features, Hit, Page } from './core/records/listing.ts';
import type { MetricsRow } from './core/records/metrics.ts';
import type { NotificationFilter, NotificationHandler } from './core/records/notification.ts';
import type {
  CheckedCall,
  EntryPermission,
  NewRule,
  OverridingRule,
  PolicyCheck,
  PolicySubject,
  SimulateOptions,
  Simulation,
} from './core/records/policy.ts';
import type { Change, ServerStatus } from './core/records/server-status.ts';
import type { BrowserSignIns, SignIns } from './core/records/sign-in.ts';
import type { Runs, Workflows } from './core/records/workflow-api.ts';

/**
 * The interface between front ends and everything behind them. This file has types only.
 * Methods that administrate or show data of other callers check the roles of `by`. They throw PERMISSION_DENIED.
 */
export interface Heddle {
  /** Runs a call through all stages. No other function reaches a server. */
  readonly dispatch: Handler;
  readonly catalog: {
    /**
     * Lists one page of the entries that `by` may see, by the same `decide` as `dispatch`.
     * Waits at most `waitMs` for servers never seen; 0 starts none.
     */
    list(by: Caller, query: ListQuery): Promise<Page<Target>>;
    /** Finds a tool as `dispatch` does; else a prompt, a template or a resource. Throws NAME_UNKNOWN or NAME_AMBIGUOUS. */
    describe(by: Caller, name: string, signal: AbortSignal): Promise<Target>;
    /**
     * Finds an entry as `describe` does, among those that servers have listed to clients like `by`. Starts no server, and
     * returns undefined for any other name. Throws NAME_AMBIGUOUS.
     */
    known(by: Caller, name: string): Promise<Target | undefined>;
    /** Returns the tools that match a text best, of those that `by` may see. */
    search(by: Caller, query: SearchQuery): Promise<readonly Hit[]>;
    /** Tests whether a server entry lists this method of an extension. Only such methods are dispatched as `extension`. */
    hasMethod(method: string): boolean;
    categories(by: Caller, signal?: AbortSignal): Promise<readonly Category[]>;
    /** Returns the features besides tools. Starts servers never seen and waits at most 250 ms; a server still connecting counts as having all. */
    offers(by: Caller): Promise<Features>;
    /** Tests whether some server has an extension of MCP. With a single client all of its extensions are passed on, so it is true. */
    hasExtension(id: string): boolean;
    /** Returns the rule that hides a known tool of this name. Requires the role `owner`: for others a hidden tool does not exist. */
    hiddenBy(by: Caller, name: string): Promise<HidingRule | undefined>;
  };
  readonly servers: {
    /** Lists servers without starting any. A caller with a profile gets the servers of that profile. Requires `owner`, `operator` or `auditor`. */
    list(by: Caller): Promise<readonly ServerStatus[]>;
    /** Connects a server that is not connected. A failed connection is a status, not an exception. */
    connect(by: Caller, name: string, signal: AbortSignal): Promise<ServerStatus>;
    /** Closes the connections to a server after their calls in flight. The next call connects it. Throws NAME_UNKNOWN. */
    disconnect(by: Caller, name: string): Promise<ServerStatus>;
    /** Sends a notification to a server, and connects it first. Throws INPUT_INVALID for a method of MCP itself. */
    notify(by: Caller, name: string, notification: OutgoingNotification): Promise<void>;
    /** Notifies the legacy servers that the session of `by` has called: its client has other roots. Connects none. */
    rootsChanged(by: Caller): void;
    /**
     * Adds a server at run time: an entry as in `mcpServers`, taken literally, or a server of the program.
     * It wins over files that name it later. Throws NAME_TAKEN, CONFIG_INVALID or SERVER_BLOCKED.
     */
    register(by: Caller, name: string, server: JsonObject | LocalServer): Promise<ServerStatus>;
    /** Replaces a registered server. Calls in flight end on the connection they began with. */
    update(by: Caller, name: string, server: JsonObject | LocalServer): Promise<ServerStatus>;
    /** Removes a registered server after its calls in flight have ended. Throws NAME_UNKNOWN for any other server. */
    unregister(by: Caller, name: string): Promise<void>;
  };
  readonly access: Access;
  readonly policy: PolicyApi;
  readonly audit: AuditApi;
  readonly signIns: SignIns;
  readonly browserSignIns: BrowserSignIns;
  readonly traces: {
    /** Returns statistics per tool (default), server or agent, the most called first. Calls without an agent have none. */
    stats(by: Caller, since: number, per?: 'tool' | 'server' | 'agent'): Promise<readonly CallStats[]>;
  };
  readonly approvals: Approvals;
  readonly workflows: Workflows;
  readonly runs: Runs;
  /** Counts the known tools that need approval, by server or pool, with the same `decide` as `dispatch`. Starts no server. */
  approvalCounts(by: Caller): Promise<readonly ApprovalCount[]>;
  /** Returns the budgets of callers in the current windows. Requires `owner`, `operator` or `auditor`. */
  budgets(by: Caller): Promise<readonly BudgetStatus[]>;
  /** Returns call metrics of each server and each of its tools, those of earlier runs included. */
  metrics(by: Caller): Promise<readonly MetricsRow[]>;
  /** Returns the active configuration without its servers, whose entries have expanded secrets. Requires the role `owner`. */
  configuration(by: Caller): Pick<Config, 'projectFolder' | 'files' | 'settings' | 'origins' | 'problems'>;
  /** Returns a keyed digest of the active configuration: equal digests mean that calls are treated alike. Requires the role `owner`. */
  configurationDigest(by: Caller, key: string): string;
  /**
   * Returns `dispatch` and `catalog` with another wait for servers never seen. Clients get an answer within seconds; a
   * user at a terminal waits until every server has been listed.
   */
  waiting(listWaitMs: number): Pick<Heddle, 'dispatch' | 'catalog'>;
  /**
   * Reads changes from now on, until the signal aborts or Heddle closes. Every caller reads changes of the catalog.
   * Changes of servers and of the configuration require `owner`, `operator` or `auditor`, and are left out for others.
   */
  changes(by: Caller, signal: AbortSignal): AsyncIterable<Change>;
  /** Calls `handler` with notifications of servers from now on. The returned function ends that. */
  onNotification(by: Caller, filter: NotificationFilter, handler: NotificationHandler): () => void;
  /** Checks the whole installation; with a server's name, that server alone. */
  doctor(by: Caller, server: string | undefined, signal: AbortSignal): Promise<readonly Finding[]>;
  close(): Promise<void>;
}

/** API keys and the settings of access control. */
export interface Access {
  /** Returns the active settings. */
  settings(): Pick<Settings, 'gateway' | 'profiles' | 'approvals'>;
  /** Returns the file that defines this profile and is not trusted by the user yet. */
  waitingProfile(profile: string): string | undefined;
  /** Returns the key with this SHA-256, unless it has been revoked by now. */
  keyOf(sha256: string): Promise<ApiKey | undefined>;
  /** Tests whether a token with these verified claims has a person behind it: `gateway.auth.person`. */
  isPerson(claims: JsonObject): Promise<boolean>;
  keys(by: Caller): Promise<readonly KnownKey[]>;
  /** Creates a key and returns its secret, which is not stored. Throws NAME_TAKEN, or NAME_UNKNOWN for an unknown profile. */
  createKey(by: Caller, wanted: Omit<ApiKey, 'sha256'>): Promise<string>;
  /** Revokes a key at once. Throws NAME_UNKNOWN. */
  revokeKey(by: Caller, name: string): Promise<void>;
  /** Records that a request of this caller was rejected before it became a call. Checks no role: each caller reports itself. */
  refused(by: Caller, what: { readonly callId: string; readonly name: string; readonly reason: string }): void;
}

export interface KnownKey extends ApiKey {
  readonly from: 'store' | 'configuration';
  readonly createdAt?: number;
}

/**
 * Approvals of calls. `owner`, `approver` and `auditor` see all; the requester of an approval sees and may reject it.
 * Decisions and changes are audited.
 */
export interface Approvals {
  /**
   * Returns a page of approvals, newest first, of at most 1 MB. Default: those that are pending. Exact arguments over 4 KB
   * are cut (`subject.isCut`), and the content of forms is left out: `get` has both.
   */
  page(by: Caller, query?: ApprovalQuery): Promise<Page<Approval>>;
  /** Returns the approvals of as many pages as `limit` needs. */
  list(by: Caller, query?: ApprovalQuery): Promise<readonly Approval[]>;
  /** Counts the approvals that `list` would return without a limit. */
  count(by: Caller, query?: Pick<ApprovalQuery, 'status'>): Promise<number>;
  /** Finds an approval by its id or the beginning of it. Throws NAME_UNKNOWN or NAME_AMBIGUOUS. */
  get(by: Caller, id: string): Promise<Approval>;
  /** Decides on a pending approval. Throws APPROVAL_SETTLED, or PERMISSION_DENIED if `by` is no approver of its stage. */
  decide(by: Caller, id: string, decision: ApprovalVerdict): Promise<Approval>;
  /** Resolves once an approval is no longer pending, whichever process decided. */
  settled(by: Caller, id: string, signal: AbortSignal): Promise<Approval>;
  /**
   * Returns how long the request of a call may stay open for an approval: `approvals.keepOpenMs`, or 5 s at most if no
   * approver would notice it. A webhook or a hook `onApproval` notifies approvers. So does a read of approvals of this
   * process in the last minute by an approver other than the requester.
   */
  keepOpenMs(id: string): Promise<number>;
  /** Returns the approval that a call of the caller requested last; undefined if it requested none. */
  ofCall(by: Caller, callId: string): Promise<ApprovalOfCall | undefined>;
  /** Withdraws a call of the caller that its client cancelled. An approval that no other call waits for becomes void. */
  withdraw(by: Caller, callId: string): Promise<void>;
  /** Reports approval rules that no identity can satisfy. Requires `owner`, `operator` or `auditor`. */
  findings(by: Caller): Promise<readonly Finding[]>;
  readonly standing: {
    list(by: Caller): Promise<readonly StandingApproval[]>;
    revoke(by: Caller, id: string): Promise<void>;
  };
}

/** The policy in force. Requires `owner`, `operator` or `auditor`, except for a caller's own permissions. */
export interface PolicyApi {
  /** Lists the effect on every known entry for a caller: exactly what it can list and call. Starts no server. */
  permissions(by: Caller, subject: PolicySubject): Promise<readonly EntryPermission[]>;
  /** Decides on a call without making it, and shows the verdict of each rule. */
  check(by: Caller, call: CheckedCall): Promise<PolicyCheck>;
  /** Returns the stronger rule by which a new rule of `permissions` would never have an effect. Starts no server. */
  overriding(by: Caller, rule: NewRule): Promise<OverridingRule | undefined>;
  /** Decides on each recorded call by the current and by the candidate rules. */
  simulate(by: Caller, options: SimulateOptions): Promise<Simulation>;
}

/** The audit log. Requires `owner` or `auditor`; `prune` requires `owner`. Reads run in a thread of their own. */
export interface AuditApi {
  /** Returns matching records in batches, newest first. */
  search(by: Caller, query: AuditSearch, signal: AbortSignal): AsyncIterable<readonly AuditEntry[]>;
  /** Returns records in batches, in the order they were written: all from `since` on, or those that match other conditions. */
  export(by: Caller, query: AuditSearch, signal: AbortSignal): AsyncIterable<readonly AuditEntry[]>;
  /** Verifies every chain and checkpoint, or those of an export; and, if given, a head that was kept elsewhere. */
  verify(by: Caller, options: VerifyAuditOptions): Promise<AuditVerification>;
  /** Writes a checkpoint and returns its place in the chain. */
  head(by: Caller): Promise<AuditHead>;
  /** Removes the records before a time, and writes a checkpoint where `verify` starts. Returns the number removed. */
  prune(by: Caller, before: number): Promise<number>;
}

export interface VerifyAuditOptions {
  readonly head?: AuditHead;
  /** The path of an export in JSON lines. */
  readonly file?: string;
  readonly signal: AbortSignal;
}

/** A notification to a server. The signal ends the wait for its delivery. */
export interface OutgoingNotification {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A server of the embedding program. `connect` receives the server's end of an in-memory transport; `transport` returns
 * Heddle's end of any other.
 */
export type LocalServer = { connect(transport: never): Promise<void> } | { transport(): unknown };

export interface SearchQuery {
  readonly text: string;
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ListQuery {
  /** Default: tools. */
  readonly kind?: CatalogKind;
  readonly cursor?: string;
  readonly limit?: number;
  readonly waitMs?: number;
  /** Ends the wait for servers never seen. */
  readonly signal?: AbortSignal | undefined;
  /** Includes tools with a broken definition, which cannot be called; `invalid` has the reason. */
  readonly includeInvalid?: boolean;
  /** Only entries of this server. */
  readonly server?: string;
  readonly category?: string;
}

/** The rule that hides an entry. */
export interface HidingRule {
  /** `permissions.deny: mcp__github`, `mcpServers.github.permissions.deniedTools`, … */
  readonly rule: string;
  readonly reason: string;
}
