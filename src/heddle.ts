import type { Caller, Handler, JsonObject, Target } from './core/call.ts';
import type { Finding } from './core/finding.ts';
import type { NotificationFilter, NotificationHandler } from './core/notification.ts';
import type { Change, ServerStatus } from './core/server-status.ts';

/** What a face may touch: types only, nothing here runs. `by` is checked against a role where it matters. */
export interface Heddle {
  /** The only way to a server. */
  readonly dispatch: Handler;
  readonly catalog: {
    /** One page of what `by` may see, by the same `decide` as dispatch. Waits at most `waitMs` for servers still connecting. */
    list(by: Caller, query: ListQuery): Promise<Page<Target>>;
    /** Looks a name up as `dispatch` would. Throws NAME_UNKNOWN or NAME_AMBIGUOUS. */
    describe(by: Caller, name: string, signal: AbortSignal): Promise<Target>;
  };
  readonly servers: {
    /** Starts nothing. */
    list(by: Caller): Promise<readonly ServerStatus[]>;
    /** Connects when it is not connected yet; a failure is a status, not an exception. */
    connect(by: Caller, name: string, signal: AbortSignal): Promise<ServerStatus>;
    /** Tells a server something, connecting it first. Throws INPUT_INVALID for what MCP itself means otherwise. */
    notify(by: Caller, name: string, said: { readonly method: string; readonly params: JsonObject }): Promise<void>;
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
  readonly traces: {
    stats(by: Caller, since: number): Promise<readonly ToolStats[]>;
  };
  /** What happens to servers and the catalog, from now on, until the signal aborts or Heddle closes. */
  changes(by: Caller, signal: AbortSignal): AsyncIterable<Change>;
  /** What servers say of their own accord, from now on, until the function that comes back is called. */
  onNotification(by: Caller, filter: NotificationFilter, handler: NotificationHandler): () => void;
  /** Everything worth knowing when something does not work; with a server's name, about that server alone. */
  doctor(by: Caller, server: string | undefined, signal: AbortSignal): Promise<readonly Finding[]>;
  close(): Promise<void>;
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
  readonly cursor?: string;
  readonly limit?: number;
  readonly waitMs?: number;
  /** Also tools that nobody can call because their definition is broken; `invalid` says why. */
  readonly includeInvalid?: boolean;
}

export interface ToolStats {
  readonly name: string;
  readonly totalCalls: number;
  readonly errorCount: number;
  readonly avgLatencyMs: number;
  readonly lastCallTime: number;
}
