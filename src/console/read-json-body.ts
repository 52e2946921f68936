import type { IncomingMessage } from 'node:http';
import type { JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject, parseJson } from '../core/json.ts';
import { MAX_COMMAND_DEPTH } from './command-wire.ts';

/** A refusal with its HTTP status. */
export interface ApiRefusal {
  readonly status: number;
  readonly error: string;
}

type ReadRequest =
  | { readonly body: JsonObject; readonly refusal?: undefined }
  | { readonly body?: undefined; readonly refusal: ApiRefusal };

const refuse = (status: number, error: string): ReadRequest => ({ refusal: { status, error } });

/** Reads a JSON object from the body of a request. */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<ReadRequest> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    return refuse(415, 'Content-Type has to be application/json.');
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    else chunks.length = 0; // The rest is read and dropped, so that the client gets the response.
  }
  if (size > maxBytes) return refuse(413, `The body is larger than ${maxBytes} bytes.`);
  try {
    const body = parseJson(Buffer.concat(chunks).toString(), { numbers: 'exact', maxDepth: MAX_COMMAND_DEPTH });
    return isObject(body) ? { body } : refuse(400, 'The body has to be a JSON object.');
  } catch (thrown) {
    return refuse(400, HeddleError.from(thrown).message);
  }
}
