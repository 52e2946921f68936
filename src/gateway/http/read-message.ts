import type { IncomingMessage } from 'node:http';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { INVALID_REQUEST, PARSE_ERROR } from '../../wire/mcp.ts';
import type { PostRequest, RequestHead } from '../http-request.ts';
import type { RequestRefusal } from './check-headers.ts';

/** Reads the whole body as text. Returns undefined if it is larger than `maxBytes`, and drops the rest. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else {
        chunks.length = 0;
        resolve(undefined);
      }
    });
    request.on('error', reject);
    request.on('end', () => {
      const [first] = chunks;
      resolve((first && chunks.length === 1 ? first : Buffer.concat(chunks)).toString('utf8'));
    });
  });
}

/** A JSON-RPC request or notification, a client's response to a server-to-client request, or a refusal. */
export type Body =
  | { readonly clientResponse: JsonObject }
  | { readonly id: string | number | undefined; readonly method: string; readonly params: JsonObject }
  | { readonly refusal: RequestRefusal };

const refuse = (status: number, code: number, message: string) => ({ refusal: { status, code, message } });

/** The text of a POST body, or the refusal if it was not read. */
export type ParsedBody = string | { readonly refusal: RequestRefusal };

/** Reads a POST body; synchronously if it has arrived already. */
export function readPost({ request }: PostRequest, maxBytes: number): ParsedBody | Promise<ParsedBody> {
  const type = request.headers['content-type'] ?? '';
  const isJson = type === 'application/json' || /^application\/json\b/i.test(type);
  if (!isJson) return refuse(415, INVALID_REQUEST, 'Content-Type has to be application/json.');
  const tooLarge = () => refuse(413, INVALID_REQUEST, `The body is larger than ${maxBytes} bytes.`);
  if (!('body' in request)) return readBody(request, maxBytes).then((text) => text ?? tooLarge());
  return Number(request.headers['content-length']) > maxBytes ? tooLarge() : request.body;
}

/** Parses a POST body into one checked message or an unchecked batch. Client errors become refusals, not exceptions. */
export function toMessage(posted: ParsedBody): Body | { readonly batch: readonly unknown[] } {
  if (typeof posted !== 'string') return posted;
  let message: unknown;
  try {
    message = parseJson(posted, { numbers: 'exact' });
  } catch (thrown) {
    return refuse(400, PARSE_ERROR, HeddleError.from(thrown).message);
  }
  return Array.isArray(message) ? { batch: message } : checkMessage(message);
}

/** Tells whether an id is valid. A number outside the safe integers could not be repeated exactly in the response. */
export const isId = (id: unknown): id is string | number => typeof id === 'string' || Number.isSafeInteger(id);

export function checkMessage(message: unknown): Body {
  if (!isObject(message)) return notAMessage();
  if (isResponse(message)) return { clientResponse: message };
  const { jsonrpc, id, method, params = {} } = message;
  const validId = id === undefined || isId(id);
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !validId || !isObject(params)) {
    return refuse(400, INVALID_REQUEST, 'The body is not a JSON-RPC request or notification.');
  }
  return { id: id as string | number | undefined, method, params };
}

export const notAMessage = () => refuse(400, INVALID_REQUEST, 'The body has to be one JSON-RPC message.');

const isResponse = ({ jsonrpc, id, method, result, error }: JsonObject) =>
  jsonrpc === '2.0' && method === undefined && id !== undefined && (isObject(result) || isObject(error));

/** Returns a single-valued header; undefined if it is absent or repeated. */
export function header({ headers }: RequestHead, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
