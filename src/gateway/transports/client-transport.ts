import { isObject, parseJson } from '../../core/json.ts';
import type { Message } from '../../wire/json-rpc.ts';
import { INVALID_REQUEST, PARSE_ERROR } from '../../wire/mcp.ts';
import type { Transport } from '../../wire/transport.ts';
import { isId } from '../http/read-message.ts';

/** A transport to one client that stays connected: both sides send requests and notifications on it. */
export interface ClientTransport extends Transport {
  /** Resolves when the client sends nothing more. It may still read. */
  readonly ended: Promise<void>;
  /** True once the client has negotiated 2025-03-26, the only version with batches. */
  acceptsBatches: boolean;
  /** Called with the elements of a batch, elements that are no messages included. */
  onbatch?: ((batch: readonly unknown[]) => void) | undefined;
  /** Counts the unsent bytes. `held` is the change of the bytes that a batch keeps until its last response. */
  readonly countUnsent: CountUnsent;
}

export type CountUnsent = (held?: number) => void;

/** With more than this unread by the client, the gateway reads no further request of it. */
export const PAUSE_BYTES = 4 * 1024 * 1024;

const MAX_BATCH = 100;

/** Parses a text from the client and passes it to the transport. Answers text that is no message with an error. */
export function receiveText(text: string, transport: ClientTransport): void {
  const value = parseText(text);
  if (value === undefined) sendError(transport, PARSE_ERROR, 'The message is not acceptable JSON.');
  else receiveParsed(value, transport);
}

/** Parses JSON and keeps exact numbers. Returns undefined for invalid JSON. */
export function parseText(text: string): unknown {
  try {
    return parseJson(text, { numbers: 'exact' });
  } catch {
    return undefined;
  }
}

/** Passes a parsed message or batch to the transport. Answers any other value with an error. */
export function receiveParsed(value: unknown, transport: ClientTransport): void {
  const isBatch = Array.isArray(value) && transport.acceptsBatches && value.length > 0 && value.length <= MAX_BATCH;
  if (isBatch) transport.onbatch?.(value);
  else if (isMessage(value)) transport.onmessage?.(value);
  else transport.send(notOneMessage()).catch(() => {}); // The client has disconnected.
}

/** Sends an error response with a null id: the id of an invalid message may itself be invalid. */
export function sendError(transport: ClientTransport, code: number, message: string): void {
  transport.send(toErrorResponse(code, message)).catch(() => {}); // The client has disconnected.
}

const toErrorResponse = (code: number, message: string): Message => ({
  jsonrpc: '2.0',
  id: null,
  error: { code, message },
});

export const notOneMessage = (): Message => toErrorResponse(INVALID_REQUEST, 'This is not one JSON-RPC message.');

export function isMessage(value: unknown): value is Message {
  if (!isObject(value) || value.jsonrpc !== '2.0') return false;
  const { id, method, params = {} } = value;
  if (method === undefined) return 'result' in value || 'error' in value;
  return typeof method === 'string' && (id === undefined || isId(id)) && isObject(params);
}
