import { isObject, parseJson } from '../../core/json.ts';
import type { Message, Transport } from '../../wire/json-rpc.ts';
import { INVALID_REQUEST, PARSE_ERROR } from '../../wire/mcp.ts';
import { isId } from '../http/read-message.ts';

/** A line on which a client both asks and is told, for as long as it stays. */
export interface ClientTransport extends Transport {
  /** Settles when the client will say nothing more. It may still listen. */
  readonly ended: Promise<void>;
  /** Set once the client speaks the one version that has batches. */
  acceptsBatches: boolean;
  /** Called with a batch, the parts that are no messages included. */
  onbatch?: ((said: readonly unknown[]) => void) | undefined;
}

/** More than this unread, and no further question is taken in until the client has read. */
export const PAUSE_BYTES = 4 * 1024 * 1024;
/** More than this unread, and the client is cut off. Several large answers may be on their way at once. */
export const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

const MAX_BATCH = 100;

/** Gives what a client wrote to its line: each message that is one; the rest is refused. */
export function receiveText(text: string, line: ClientTransport): void {
  const said = readText(text);
  if (said === undefined) refuse(line, PARSE_ERROR, 'The message is not acceptable JSON.');
  else receive(said, line);
}

/** What a text says as JSON; undefined when it is none. */
export function readText(text: string): unknown {
  try {
    return parseJson(text, { numbers: 'exact' });
  } catch {
    return undefined;
  }
}

/** Like `receiveText`, for what has been read already. */
export function receive(said: unknown, line: ClientTransport): void {
  const isBatch = Array.isArray(said) && line.acceptsBatches && said.length > 0 && said.length <= MAX_BATCH;
  if (isBatch) line.onbatch?.(said);
  else if (isMessage(said)) line.onmessage?.(said);
  else line.send(notOneMessage()).catch(() => {}); // It has left.
}

/** Tells a client that what it wrote is no message. Its id is not repeated: it may be what is wrong. */
export function refuse(line: ClientTransport, code: number, message: string): void {
  line.send(refusalOf(code, message)).catch(() => {}); // It has left.
}

const refusalOf = (code: number, message: string): Message => ({ jsonrpc: '2.0', id: null, error: { code, message } });

export const notOneMessage = (): Message => refusalOf(INVALID_REQUEST, 'This is not one JSON-RPC message.');

export function isMessage(said: unknown): said is Message {
  if (!isObject(said) || said.jsonrpc !== '2.0') return false;
  const { id, method, params = {} } = said;
  if (method === undefined) return 'result' in said || 'error' in said;
  return typeof method === 'string' && (id === undefined || isId(id)) && isObject(params);
}
