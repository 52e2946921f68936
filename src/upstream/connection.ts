import type { JsonObject, ResolvedCall, Result } from '../core/call.ts';
import type { Agreement, Era } from './negotiate.ts';

/** One open line to one MCP server. Closed once, never reopened: open a new one. */
export interface Connection {
  readonly server: string;
  readonly agreement: Agreement;
  /** Sends a call and brings the answer, verbatim. Throws UpstreamError when the line fails it. */
  send(call: ResolvedCall): Promise<Result>;
  /** All pages of the server's tools, each as the server wrote it. */
  listTools(signal: AbortSignal): Promise<readonly JsonObject[]>;
  close(): Promise<void>;
  /** Lets what is under way come to its end, then closes. */
  finish(): Promise<void>;
  /** Settles when the line drops, for whatever reason. Never rejects. */
  readonly closed: Promise<void>;
  /** What the server said last on stderr, where it has one. */
  lastWords(): string;
}

export interface ConnectOptions {
  readonly server: string;
  readonly signal: AbortSignal;
  readonly known: Era | undefined;
  readonly onToolsChanged: () => void;
}

/** Opens a new line each time it is called. */
export type Connect = (options: ConnectOptions) => Promise<Connection>;
