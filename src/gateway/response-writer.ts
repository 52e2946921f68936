import type { OutgoingHttpHeaders } from 'node:http';

/** As much of an HTTP response as an answer needs, so that something else can stand in for one. */
export interface ResponseWriter {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly writableLength: number;
  readonly destroyed: boolean;
  /** Others write to the same response. */
  readonly isShared?: boolean;
  writeHead(status: number, headers?: OutgoingHttpHeaders): ResponseWriter;
  write(chunk: string | Buffer): boolean;
  end(chunk?: string): unknown;
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** One that belongs to a request of its own. */
export interface HttpResponse extends ResponseWriter {
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: OutgoingHttpHeaders): HttpResponse;
}

/** What a client that does not read may make us hold before it is cut off. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;

/** Says something that has no end yet. Who does not read is disconnected: it may come back, and is never told half. */
export function writeOrDisconnect(
  outlet: Pick<ResponseWriter, 'writableLength' | 'write' | 'destroy'>,
  text: string,
): void {
  if (outlet.writableLength > MAX_HELD_BYTES) outlet.destroy();
  else outlet.write(text);
}

/** What nobody reads, so that whatever lies between sees that the line is in use. */
export const KEEP_ALIVE_COMMENT = ': still here\n\n';
