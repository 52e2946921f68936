import type { Caller, ClientCapabilities, JsonObject, ResolvedCall, Result } from '../core/call.ts';
import type { HeddleError } from '../core/errors.ts';
import type { Era, ProtocolVersion } from '../wire/mcp.ts';
import type { DroppedCounts } from '../wire/peer.ts';
import type { Credential } from './auth/credential.ts';
import type { ServerRequests } from './elicitation/server-requests.ts';

/** The lists that a server may have. */
export type ListKind = 'tools' | 'resources' | 'templates' | 'prompts';

/** The server capability that declares each list. */
export const CAPABILITY_OF: Readonly<Record<ListKind, string>> = {
  tools: 'tools',
  resources: 'resources',
  templates: 'resources',
  prompts: 'prompts',
};

/** The result of the handshake: protocol version, capabilities and description of the server. */
export interface Agreement {
  readonly era: Era;
  /** The newest era the server answered in. A slow start may leave the connection itself on an older one. */
  readonly newest: Era;
  readonly protocolVersion: string;
  readonly capabilities: JsonObject;
  readonly serverInfo: JsonObject;
  /** At most 4,096 characters, without control characters other than line breaks and tabs. */
  readonly instructions: string | undefined;
}

/** The transports that a `url` without a fixed one may speak. */
export type UrlTransport = 'http' | 'sse';

/** `used`: the server had answered a call or listed something in the session that it no longer knew. */
export type LostSession = 'used' | 'unused';

/** An open connection to one MCP server. It closes once; a new connection is a new object. */
export interface Connection {
  readonly server: string;
  readonly agreement: Agreement;
  /** The transport in use, for a server whose transport is found out at the connect. */
  readonly urlTransport?: UrlTransport;
  /** Sends a call. Returns the verbatim result or the input requests of the server. Throws UpstreamError. */
  send(call: ResolvedCall): Promise<Result>;
  /** Returns all pages of one list, with verbatim items; empty when the server does not declare the list. */
  list(kind: ListKind, signal: AbortSignal): Promise<readonly JsonObject[]>;
  /** Reports every list whose TTL has expired as changed. Called whenever the lists are used. */
  refreshExpiredLists(): void;
  /** Sends a cheap request. Rejects when the server does not answer it. */
  probe(signal: AbortSignal): Promise<void>;
  /** Subscribes to a resource. Changes arrive as `notifications/resources/updated`. */
  subscribe(uri: string, signal: AbortSignal): Promise<void>;
  unsubscribe(uri: string, signal: AbortSignal): Promise<void>;
  notify(method: string, params: JsonObject, signal: AbortSignal): Promise<void>;
  /** Notifies the server that its list of roots has changed; absent unless `roots.listChanged` was declared to it. */
  readonly rootsChanged?: () => void;
  /** True once the server has sent a request without a related call. Only one call at a time is certain then. */
  sendsUnrelatedRequests(): boolean;
  /** True once a call was sent. Lists may then be specific to this session. */
  hasSentCall(): boolean;
  /** Returns the number of requests without a response, suspended calls included. */
  inFlight(): number;
  close(): Promise<void>;
  /** Waits for the requests in flight, then closes. */
  drain(): Promise<void>;
  /** Settles when the connection ends, for any reason. Never rejects. */
  readonly closed: Promise<void>;
  /** Returns how a connection was used whose server no longer knew the session; undefined if it ended otherwise. */
  lostSession(): LostSession | undefined;
  /** Returns the counts of unexpected messages. */
  dropped(): DroppedCounts;
  /** Returns the end of the server's stderr, or why a remote connection closed. */
  stderrTail(): string;
  /** Describes how the server process ended; undefined while it runs, and absent without a process. */
  readonly ending?: () => string | undefined;
}

export interface ConnectOptions {
  readonly server: string;
  readonly signal: AbortSignal;
  readonly known: Era | undefined;
  /** The transport of an earlier connect: tried first. */
  readonly urlTransport?: UrlTransport | undefined;
  /** Deadline of the handshake and of each request for a list; 15 s unless given. */
  readonly timeoutMs?: number;
  /** The only protocol version to use, if the server entry sets one. */
  readonly protocol?: ProtocolVersion | undefined;
  /** The client capabilities that the server is given. */
  readonly capabilities: ClientCapabilities;
  /** Receives every notification without a related call: changed lists and resources, log messages and others. */
  readonly onNotification: (method: string, params: JsonObject) => void;
  /** Called for a fault that leaves the connection open, such as a message over the size limit. */
  readonly onTrouble?: (reason: string) => void;
  /** Shared by all connections of one Heddle. A connection without it makes its own. */
  readonly serverRequests?: ServerRequests;
  /** The caller that a private connection is for; absent for the shared connection. */
  readonly caller?: Caller;
  /** Authorizes the requests of HTTP, SSE and WebSocket transports. */
  readonly credential?: Credential | undefined;
  /** Called when the server refused a request and a sign-in is needed; not for scopes that one call lacks. */
  readonly onAuthNeeded?: (error: HeddleError) => void;
}

/** Opens a new connection each time it is called. */
export type Connect = (options: ConnectOptions) => Promise<Connection>;
