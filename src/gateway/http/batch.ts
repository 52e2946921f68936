import type { OutgoingHttpHeaders } from 'node:http';
import { BATCH_VERSION } from '../../wire/mcp.ts';
import type { HttpResponse, ResponseWriter } from '../response-writer.ts';
import { type Body, checkMessage, notAMessage } from './read-message.ts';
import { Reply } from './reply.ts';

/** The one version in which a client may post several messages at once. */
const MAX_BATCH = 100;

export interface MessageBatch {
  /** What the session speaks, if there is one. */
  readonly version: string | undefined;
  readonly messages: readonly unknown[];
}

/** One message of a batch, with its own way back. */
export type BatchPart =
  | (Extract<Body, { method: unknown }> & { readonly response: ResponseWriter; readonly reply: Reply })
  | (Extract<Body, { answer: unknown }> & { readonly response: ResponseWriter });

/** Answers each message of a batch by itself, where batches exist; the answers come as they are ready. */
export async function handleBatch(
  response: HttpResponse,
  { version, messages }: MessageBatch,
  answerOne: (part: BatchPart) => Promise<void> | void,
): Promise<void> {
  if (version !== BATCH_VERSION || messages.length === 0 || messages.length > MAX_BATCH) {
    return new Reply(response, null).error(notAMessage().refusal);
  }
  const answered = shareResponse(response, messages.length).map((part, at) => {
    const body = checkMessage(messages[at]);
    if ('refusal' in body) return new Reply(part, null).error(body.refusal);
    if ('answer' in body) return answerOne({ ...body, response: part });
    const reply = new Reply(part, body.id ?? null);
    // A session is not opened from within another.
    return body.method === 'initialize'
      ? reply.error(notAMessage().refusal)
      : answerOne({ ...body, response: part, reply });
  });
  await Promise.all(answered);
}

/** Shares one response among the messages of a batch: each part answers as if it had come alone. */
function shareResponse(response: HttpResponse, parts: number): readonly ResponseWriter[] {
  let open = parts;

  function say(event: string): void {
    if (response.destroyed || response.writableEnded) return;
    if (!response.headersSent) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    }
    response.write(event);
  }

  function ended(): void {
    open -= 1;
    if (open > 0 || response.destroyed) return;
    if (response.headersSent) response.end();
    else response.writeHead(202).end(); // Nothing in it wanted an answer.
  }

  return Array.from({ length: parts }, () => new Part(response, { say, ended }));
}

interface Telling {
  say(event: string): void;
  ended(): void;
}

class Part implements ResponseWriter {
  readonly isShared = true;
  readonly #response: HttpResponse;
  readonly #telling: Telling;
  readonly #held: string[] = [];
  #streams = false;
  #begun = false;
  #ended = false;

  constructor(response: HttpResponse, telling: Telling) {
    this.#response = response;
    this.#telling = telling;
  }

  get headersSent(): boolean {
    return this.#begun;
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
    this.#begun = true;
    this.#streams = headers['content-type'] === 'text/event-stream';
    return this;
  }

  write(chunk: string | Buffer): boolean {
    if (this.#streams) this.#telling.say(chunk.toString());
    else this.#held.push(chunk.toString());
    return true;
  }

  end(chunk?: string): void {
    if (this.#ended) return;
    if (chunk !== undefined) this.write(chunk);
    this.#ended = true;
    if (this.#held.length > 0) this.#telling.say(`data: ${this.#held.join('')}\n\n`);
    this.#telling.ended();
  }

  destroy(): void {
    this.#response.destroy();
  }

  once(event: 'close', listener: () => void): void {
    this.#response.once(event, listener);
  }
}
