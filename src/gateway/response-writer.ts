import type { OutgoingHttpHeaders } from 'node:http';
import type { JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';

/** The part of an HTTP response that a reply needs. A part of a batch implements it too. */
export interface ResponseWriter {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly writableLength: number;
  readonly destroyed: boolean;
  /** True for a part of a batch: other parts write to the same response. */
  readonly isShared?: boolean;
  writeHead(status: number, headers?: OutgoingHttpHeaders): ResponseWriter;
  write(chunk: string | Buffer): boolean;
  end(chunk?: string): unknown;
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** A response that belongs to one HTTP request. */
export interface HttpResponse extends ResponseWriter {
  /** The caller for whom unsent bytes are counted; absent before it is known. */
  callerId?: string | undefined;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: OutgoingHttpHeaders): HttpResponse;
}

/** An SSE comment. Clients ignore it; proxies see that the stream is in use. */
export const KEEP_ALIVE_COMMENT = ': still here\n\n';

/** An HTTP response with a JSON body. */
export interface JsonResponse {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body: JsonObject;
}

export function sendJson(response: HttpResponse, { status, headers, body }: JsonResponse): void {
  const text = JSON.stringify(body);
  response
    .writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text);
}

/** Sends status 500 for an unexpected error. If the headers are sent already, disconnects the client. */
export function failResponse(response: HttpResponse, thrown: unknown): void {
  if (response.headersSent) response.destroy();
  else sendJson(response, { status: 500, body: { error: HeddleError.from(thrown).message } });
}
