import type { OutgoingHttpHeaders } from 'node:http';
import { BATCH_VERSION } from '../../wire/mcp.ts';
import type { HttpResponse, ResponseWriter } from '../response-writer.ts';
import { type Body, checkMessage, notAMessage } from './read-message.ts';
import { Reply } from './reply.ts';

const MAX_BATCH = 100;

export interface MessageBatch {
  /** Protocol version of the session, if there is one. */
  readonly version: string | undefined;
  readonly messages: readonly unknown[];
}

/** A message of a batch with its own response writer. */
export type BatchPart =
  | (Extract<Body, { method: unknown }> & { readonly response: ResponseWriter; readonly reply: Reply })
  | (Extract<Body, { clientResponse: unknown }> & { readonly response: ResponseWriter });

/** Handles each message of a batch separately. Responses are sent in the order in which they are ready. */
export async function handleBatch(
  response: HttpResponse,
  { version, messages }: MessageBatch,
  handleOne: (part: BatchPart) => Promise<void> | void,
): Promise<void> {
  if (version !== BATCH_VERSION || messages.length === 0 || messages.length > MAX_BATCH) {
    return new Reply(response, null).error(notAMessage().refusal);
  }
  const handled = shareResponse(response, messages.length).map((part, index) => {
    const body = checkMessage(messages[index]);
    if ('refusal' in body) return new Reply(part, null).error(body.refusal);
    if ('clientResponse' in body) return handleOne({ ...body, response: part });
    const reply = new Reply(part, body.id ?? null);
    // `initialize` may not be part of a batch.
    return body.method === 'initialize'
      ? reply.error(notAMessage().refusal)
      : handleOne({ ...body, response: part, reply });
  });
  await Promise.all(handled);
}

/** Splits one HTTP response into one writer per message of a batch. */
function shareResponse(response: HttpResponse, parts: number): readonly ResponseWriter[] {
  let open = parts;

  function writeEvent(event: string): void {
    if (response.destroyed || response.writableEnded) return;
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    }
    response.write(event);
  }

  function partEnded(): void {
    open -= 1;
    if (open > 0 || response.destroyed) return;
    if (response.headersSent) response.end();
    else response.writeHead(202).end(); // The batch had notifications and responses only.
  }

  return Array.from({ length: parts }, () => new BatchPartWriter(response, { writeEvent, partEnded }));
}

interface SharedResponse {
  writeEvent(event: string): void;
  partEnded(): void;
}

class BatchPartWriter implements ResponseWriter {
  readonly isShared = true;
  readonly #response: HttpResponse;
  readonly #shared: SharedResponse;
  readonly #chunks: string[] = [];
  #streams = false;
  #headersSent = false;
  #ended = false;

  constructor(response: HttpResponse, shared: SharedResponse) {
    this.#response = response;
    this.#shared = shared;
  }

  get headersSent(): boolean {
    return this.#headersSent;
  }

  get writableEnded(): boolean {
    return this.#ended;
  }

  get writableFinished(): boolean {
    return this.#ended;
  }

  get writableLength(): number {
    return this.#response.writableLength;
  }

  get destroyed(): boolean {
    return this.#response.destroyed;
  }

  writeHead(_status: number, headers: OutgoingHttpHeaders = {}): ResponseWriter {
    this.#headersSent = true;
    this.#streams = headers['content-type'] === 'text/event-stream';
    return this;
  }

  write(chunk: string | Buffer): boolean {
    if (this.#streams) this.#shared.writeEvent(chunk.toString());
    else this.#chunks.push(chunk.toString());
    return true;
  }

  end(chunk?: string): void {
    if (this.#ended) return;
    if (chunk !== undefined) this.write(chunk);
    this.#ended = true;
    if (this.#chunks.length > 0) this.#shared.writeEvent(`data: ${this.#chunks.join('')}\n\n`);
    this.#shared.partEnded();
  }

  destroy(): void {
    this.#response.destroy();
  }

  once(event: 'close', listener: () => void): void {
    this.#response.once(event, listener);
  }
}
