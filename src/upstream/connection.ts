import type { ClientCapabilities, JsonObject, ResolvedCall, Result } from '../core/call.ts';
import type { HeddleError } from '../core/errors.ts';
import type { Era, ProtocolVersion } from '../wire/mcp.ts';
import type { DroppedCounts } from '../wire/peer.ts';
import type { ServerRequests } from './elicitation/server-requests.ts';

/** What a server can be asked to list. */
export type ListKind = 'tools' | 'resources' | 'templates' | 'prompts';

/** The capability by which a server says that it has such a list. */
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
  readonly instructions: string | undefined;
}

/** One open line to one MCP server. Closed once, never reopened: open a new one. */
export interface Connection {
  readonly server: string;
  readonly agreement: Agreement;
  /** One round of a call: the answer, verbatim, or what the server asks first. Throws UpstreamError when the line fails it. */
  send(call: ResolvedCall): Promise<Result>;
  /** All pages of one list, each item as the server wrote it; empty when the server has no such thing. */
  list(kind: ListKind, signal: AbortSignal): Promise<readonly JsonObject[]>;
  /** Whoever looks at the lists says so: those whose time is over are then heard of as changed. */
  refreshExpiredLists(): void;
  /** A question so cheap that only a server in trouble does not answer it. */
  probe(signal: AbortSignal): Promise<void>;
  /** Asks to be told when a resource changes; heard as `notifications/resources/updated`. */
  subscribe(uri: string, signal: AbortSignal): Promise<void>;
  unsubscribe(uri: string, signal: AbortSignal): Promise<void>;
  notify(method: string, params: JsonObject, signal: AbortSignal): Promise<void>;
  /** True once the server has asked something without saying during which call: then only one call at a time is certain. */
  sendsUnrelatedRequests(): boolean;
  /** True once a call was sent: lists may then be of this session alone. */
  hasSentCall(): boolean;
  /** How many requests wait for their answer, those parked behind a question included. */
  inFlight(): number;
  close(): Promise<void>;
  /** Lets what is under way come to its end, then closes. */
  drain(): Promise<void>;
  /** Settles when the line drops, for whatever reason. Never rejects. */
  readonly closed: Promise<void>;
  /** How many of its messages nobody was waiting for. */
  dropped(): DroppedCounts;
  /** What the server said last on stderr, where it has one. */
  stderrTail(): string;
}

export interface ConnectOptions {
  readonly server: string;
  readonly signal: AbortSignal;
  readonly known: Era | undefined;
  /** Deadline of the handshake and of each request for a list; 15 s unless given. */
  readonly timeoutMs?: number;
  /** The only version to speak, where the entry of the server fixes one. */
  readonly protocol?: ProtocolVersion | undefined;
  /** What the server is told that the user can be asked. */
  readonly capabilities: ClientCapabilities;
  /** Every notification that belongs to no call: changed lists and resources, log lines, and whatever else it says. */
  readonly onNotification: (method: string, params: JsonObject) => void;
  /** Told of something that is wrong with the server although its line holds, such as a message too long to read. */
  readonly onTrouble?: (reason: string) => void;
  /** Shared by the lines of one Heddle; a line that shares with nobody has its own. */
  readonly serverRequests?: ServerRequests;
  /** Told when a call was answered with the wish for a credential. */
  readonly onAuthNeeded?: (error: HeddleError) => void;
}

/** Opens a new line each time it is called. */
export type Connect = (options: ConnectOptions) => Promise<Connection>;
