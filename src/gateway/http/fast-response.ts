import type { OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { STATUS_CODES } from '../node-http.ts';
import type { HttpResponse } from '../response-writer.ts';
import { encodeLong, type UnsentBytes } from '../unsent-bytes.ts';

// The characters that Node rejects in a header value, line breaks among them.
const BAD_VALUE = /[^\t -~\x80-\xff]/;

/** The response to a fast request: a single write if the whole body is known, else chunked. */
export class FastResponse implements HttpResponse {
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  callerId: string | undefined;
  readonly #socket: Socket;
  readonly #unsent: UnsentBytes;
  readonly #onEnd: (isLast: boolean) => void;
  readonly #onClose: (() => void)[] = [];
  #fields = '';
  /** The part of the head that is not written yet. */
  #head = '';
  #isChunked = false;
  #isLast = false;
  #isClosed = false;
  #isCorked = false;

  /** `onEnd` runs when the whole response is sent; `isLast` says that the connection then closes. */
  constructor(socket: Socket, unsent: UnsentBytes, onEnd: (isLast: boolean) => void) {
    this.#socket = socket;
    this.#unsent = unsent;
    this.#onEnd = onEnd;
  }

  get destroyed(): boolean {
    return !this.#socket.writable;
  }

  get writableLength(): number {
    return this.#socket.writableLength;
  }

  setHeader(name: string, value: string): this {
    this.#fields += toField(name, value);
    this.#isLast ||= name === 'connection' && value === 'close';
    return this;
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    if (this.headersSent) throw new Error('The response head was already written.');
    let fields = this.#fields;
    for (const name in headers) fields += toField(name, String(headers[name]));
    // Set only after all values passed: after a bad value the caller can still write an error head.
    this.headersSent = true;
    this.#isLast ||= headers.connection === 'close';
    this.#isChunked = headers['content-length'] === undefined;
    this.#head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}date: ${httpDate()}\r\n`;
    return this;
  }

  write(chunk: string | Buffer): boolean {
    if (this.writableEnded || this.destroyed || chunk.length === 0) return !this.writableEnded;
    const head = this.#takeHead(this.#isChunked ? 'transfer-encoding: chunked\r\n' : '');
    const bytes = Buffer.byteLength(chunk);
    const [before, after] = this.#isChunked ? [`${head}${bytes.toString(16)}\r\n`, '\r\n'] : [head, ''];
    this.#cork();
    const encoded = encodeLong(chunk);
    if (typeof encoded === 'string') return this.#socket.write(before + encoded + after);
    this.#socket.write(before);
    this.#socket.write(encoded);
    return this.#socket.write(after);
  }

  end(chunk = ''): this {
    if (this.writableEnded) return this;
    if (!this.headersSent) this.writeHead(200);
    if (this.#isChunked && this.#head !== '') {
      this.#isChunked = false; // The whole body is known.
      this.#head += `content-length: ${Buffer.byteLength(chunk)}\r\n`;
    }
    const body = encodeLong(chunk);
    const isWhole = !this.#isChunked && typeof body === 'string';
    if (!isWhole) this.write(body);
    const rest = isWhole ? this.#takeHead() + body : this.#isChunked ? '0\r\n\r\n' : '';
    if (rest !== '' && !this.destroyed) this.#socket.write(rest);
    this.writableEnded = true;
    this.#uncork();
    // Usually the kernel has taken all of it. If not, the client reads slowly: the next request waits for the flush.
    if (this.destroyed || this.#socket.writableLength === 0) this.#finish();
    else {
      this.#socket.write('', () => this.#finish());
      this.#unsent.count(this.#socket, this.callerId);
    }
    return this;
  }

  destroy(): void {
    if (!this.writableEnded) this.#socket.destroy(); // After the end the connection may serve the next request.
  }

  once(_event: 'close', listener: () => void): this {
    if (this.#isClosed) listener();
    else this.#onClose.push(listener);
    return this;
  }

  /** Runs the `close` listeners: nothing more will be written. */
  closed(): void {
    this.#isClosed = true;
    for (const listener of this.#onClose.splice(0)) listener();
  }

  /** Joins all writes of one event loop turn into one packet. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#socket.cork();
    process.nextTick(() => {
      this.#uncork();
      if (this.#socket.writableLength > 0) this.#unsent.count(this.#socket, this.callerId);
    });
  }

  #uncork(): void {
    if (this.#isCorked) this.#socket.uncork();
    this.#isCorked = false;
  }

  #finish(): void {
    this.writableFinished = !this.destroyed;
    this.closed();
    this.#onEnd(this.#isLast);
  }

  #takeHead(more = ''): string {
    if (this.#head === '') return '';
    const head = `${this.#head}${more}${this.#isLast ? 'connection: close\r\n' : KEEP_ALIVE_FIELDS}\r\n`;
    this.#head = '';
    return head;
  }
}

/** Formats one header field. `connection` is left out: it is written last, when its value is certain. */
function toField(name: string, value: string): string {
  if (BAD_VALUE.test(value)) throw new TypeError(`The header ${name} has an invalid value.`);
  return name === 'connection' ? '' : `${name}: ${value}\r\n`;
}

/** Idle time after which a kept-alive connection is closed. */
export const KEEP_ALIVE_MS = 65_000;
const KEEP_ALIVE_FIELDS = `connection: keep-alive\r\nkeep-alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n`;

let dateSecond = 0;
let dateText = '';

function httpDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now === dateSecond) return dateText;
  dateSecond = now;
  dateText = new Date(now * 1000).toUTCString();
  return dateText;
}
