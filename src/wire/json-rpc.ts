import type { Json, JsonObject } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { INTERNAL_ERROR } from './mcp.ts';

/** A JSON-RPC message as its sender wrote it. */
export type Message = JsonObject;

/**
 * One line between two peers, whatever carries it. The shape is the SDK's
 * `Transport`, plus what it lacks: dropping a single request's stream by id,
 * and saying on whose stream a message came.
 */
export interface Transport {
  onmessage?: ((message: Message, origin?: MessageOrigin) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  /** The answer to one of our requests came, but cannot be had. */
  onlost?: ((id: number, error: Error) => void) | undefined;
  /** Each request has its own stream, so an answer can fail to come without the line being lost. */
  readonly hasPerRequestStream?: boolean;
  start(): Promise<void>;
  send(message: Message, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  abandon?(id: number): void;
}

export interface MessageOrigin {
  /** Our request id, when the line knows on whose stream the message came. */
  readonly relatedRequestId?: number | undefined;
}

export interface SendOptions {
  /** Called when the stream of a request ended without its response, with what came instead. */
  readonly onRequestStreamEnd?: (reason?: Error) => void;
  /** Further headers for this message, where the line has any. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long the answer is waited for: a line that was told to come back later does so only within that. */
  readonly deadlineMs?: number;
  /** Whether asking twice is the same as asking once. */
  readonly repeatable?: boolean;
  /** Ends the wait for a message to be accepted that nobody answers. Requests are given up by `abandon`. */
  readonly signal?: AbortSignal;
}

/** The peer understood the request and answered with an error. Its words pass through unharmed. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }

  static fromError(error: unknown): RpcError {
    const { code, message, data } = isObject(error) ? error : {};
    return new RpcError(
      typeof code === 'number' ? code : INTERNAL_ERROR,
      typeof message === 'string' ? message : '',
      data,
    );
  }

  toError(): JsonObject {
    const { code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }
}

/** The error for a response that has neither a result object nor an error. Its request may have been carried out. */
export function toInvalidResponse(server: string, method: string, { result, error }: Message): UpstreamError {
  const isBoth = isObject(result) && isObject(error);
  const found = isBoth ? 'both a result and an error' : `the result ${shown(result)} and no error`;
  const message = `${server} answered ${method} with an invalid JSON-RPC response: it has ${found}.`;
  return new UpstreamError('UPSTREAM_FAILED', message, {
    delivered: 'maybe',
    details: { server },
    fix: `Report it to the author of ${server}: a response has either a \`result\` object or an \`error\` object.`,
  });
}

const shown = (value: Json | undefined) => (value === undefined ? '(none)' : JSON.stringify(value).slice(0, 100));
