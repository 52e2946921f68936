import type { Settings } from './config/schema/schema.ts';
import type { Caller, Handler, JsonObject, Target, TargetKind } from './core/call.ts';
import type { ApiKey } from './core/records/api-key.ts';
import type { Finding } from './core/records/finding.ts';
import type { MetricsRow } from './core/records/metrics.ts';
import type { NotificationFilter, NotificationHandler } from './core/records/notification.ts';
import type { Change, ServerStatus } from './core/records/server-status.ts';

/** What a face may touch: types only, nothing here runs. `by` is checked against a role where it matters. */
export interface Heddle {
  /** The only way to a server. */
  readonly dispatch: Handler;
  readonly catalog: {
    /** Lists one page of the entries that `by` may see, by the same `decide` as dispatch. Waits at most `waitMs` for servers never seen; 0 starts none. */
    list(by: Caller, query: ListQuery): Promise<Page<Target>>;
    /** A tool, looked up as `dispatch` would; else a prompt, a template or a resource. Throws NAME_UNKNOWN or NAME_AMBIGUOUS. */
    describe(by: Caller, name: string, signal: AbortSignal): Promise<Target>;
    /** What fits some words best, among what `by` may see. */
    search(by: Caller, query: { readonly text: string; readonly limit?: number }): Promise<readonly Hit[]>;
    categories(by: Caller): Promise<readonly Category[]>;
    /** The features besides tools. Starts servers never seen, and waits 250 ms at most: those still connecting may bring anything. */
    offers(by: Caller): Promise<Features>;
    /** Which rule keeps a known tool of this name out of sight, if one does. Only for the owner: to others it is not there. */
    hiddenBy(by: Caller, name: string): Promise<HidingRule | undefined>;
  };
  readonly servers: {
    /** Starts nothing. A caller with a profile is shown the servers of that profile alone. */
    list(by: Caller): Promise<readonly ServerStatus[]>;
    /** Connects when it is not connected yet; a failure is a status, not an exception. */
    connect(by: Caller, name: string, signal: AbortSignal): Promise<ServerStatus>;
    /** Tells a server something, connecting it first. Throws INPUT_INVALID for what MCP itself means otherwise. */
    notify(by: Caller, name: string, said: OutgoingNotification): Promise<void>;
    /**
     * Brings a server while Heddle runs: an entry as in `mcpServers`, taken literally, or one in this process. It
     * wins over files that name it later. Throws NAME_TAKEN, CONFIG_INVALID or SERVER_BLOCKED.
     */
    register(by: Caller, name: string, server: JsonObject | LocalServer): Promise<ServerStatus>;
    /** Replaces a server that was registered; calls under way end on the line they began with. */
    update(by: Caller, name: string, server: JsonObject | LocalServer): Promise<ServerStatus>;
    /** Takes a registered server away again; calls under way come to their end. Throws NAME_UNKNOWN for any other. */
    unregister(by: Caller, name: string): Promise<void>;
  };
  readonly access: Access;
  readonly traces: {
    /** Per tool as long as nothing else is said, the most called first. */
    stats(by: Caller, since: number, per?: 'tool' | 'server'): Promise<readonly CallStats[]>;
  };
  /** How each server and each of its tools has done so far, in this run and those before. */
  metrics(by: Caller): Promise<readonly MetricsRow[]>;
  /** What happens to servers and the catalog, from now on, until the signal aborts or Heddle closes. */
  changes(by: Caller, signal: AbortSignal): AsyncIterable<Change>;
  /** What servers say of their own accord, from now on, until the function that comes back is called. */
  onNotification(by: Caller, filter: NotificationFilter, handler: NotificationHandler): () => void;
  /** Everything worth knowing when something does not work; with a server's name, about that server alone. */
  doctor(by: Caller, server: string | undefined, signal: AbortSignal): Promise<readonly Finding[]>;
  close(): Promise<void>;
}

/** Who may come in, and with what. */
export interface Access {
  /** What the configuration in force says of it. */
  settings(): Pick<Settings, 'gateway' | 'profiles'>;
  /** The file that has this profile and that the user has yet to trust, if there is one. */
  waitingProfile(profile: string): string | undefined;
  /** Whose key has this SHA-256, at this very moment. */
  keyOf(sha256: string): Promise<ApiKey | undefined>;
  keys(by: Caller): Promise<readonly KnownKey[]>;
  /** Makes a key, and gives it out this once. Throws NAME_TAKEN, or NAME_UNKNOWN for a profile that does not exist. */
  createKey(by: Caller, wanted: Pick<ApiKey, 'name' | 'roles' | 'profile'>): Promise<string>;
  /** Takes a key away: from now on it opens nothing. Throws NAME_UNKNOWN. */
  revokeKey(by: Caller, name: string): Promise<void>;
  /** Writes down that a request of this caller was not believed, before it became a call. Each may tell of itself. */
  refused(by: Caller, what: { readonly callId: string; readonly name: string; readonly reason: string }): void;
}

export interface KnownKey extends ApiKey {
  readonly from: 'store' | 'configuration';
  readonly createdAt?: number;
}

/** A notification of our own; its signal ends the wait for the server to take it. */
export interface OutgoingNotification {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal?: AbortSignal | undefined;
}

/** A server in this process, which only its own program can bring: it is given its end of a line. */
export interface LocalServer {
  readonly connect: (line: never) => Promise<void>;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next?: string;
}

export interface ListQuery {
  /** Tools unless something else is said. */
  readonly kind?: TargetKind;
  readonly cursor?: string;
  readonly limit?: number;
  readonly waitMs?: number;
  /** Also tools that nobody can call because their definition is broken; `invalid` says why. */
  readonly includeInvalid?: boolean;
  /** Only what this server can answer. */
  readonly server?: string;
  readonly category?: string;
}

/** Why something is not shown: what decided, where to look for it, and in words. */
export interface HidingRule {
  /** `permissions.deny: mcp__github`, `mcpServers.github.permissions.deniedTools`, … */
  readonly rule: string;
  readonly reason: string;
}

/** What servers have beside tools. */
export interface Features {
  readonly resources: boolean;
  /** Somebody tells when a resource changes. */
  readonly subscribe: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
}

/** What a search found. Scores compare the hits of one search, and nothing else. */
export interface Hit {
  readonly target: Target;
  readonly score: number;
  readonly reason: 'exact name' | 'name' | 'description';
}

export interface Category {
  readonly name: string;
  readonly tools: number;
  readonly servers: readonly string[];
}

/** How the calls of a tool, or of a server, have ended since some time. */
export interface CallStats {
  readonly name: string;
  readonly totalCalls: number;
  /** The share of calls that did not end with an error code. */
  readonly successRate: number;
  readonly errorCount: number;
  /** Answers in which the tool itself says that it failed. */
  readonly toolErrors: number;
  readonly avgLatencyMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly lastCallTime: number;
  /** At most five, the most frequent first. */
  readonly topErrors: readonly { readonly code: string; readonly count: number }[];
}
