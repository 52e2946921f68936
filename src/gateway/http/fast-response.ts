import type { OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { STATUS_CODES } from '../node-http.ts';
import type { HttpResponse } from '../response-writer.ts';

// As Node has it: nothing in a value may end its line.
const BAD_VALUE = /[^\t -~\x80-\xff]/;

/** The answer to a plain request: one write where all of it is known at once, else in chunks. */
export class FastResponse implements HttpResponse {
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  readonly #socket: Socket;
  readonly #onEnd: (isLast: boolean) => void;
  readonly #onClose: (() => void)[] = [];
  #fields = '';
  /** What is still to be written of the head. */
  #head = '';
  #isChunked = false;
  #isLast = false;
  #isClosed = false;
  #isCorked = false;

  /** `onEnd` is told when all of it has gone out, and whether the connection ends with it. */
  constructor(socket: Socket, onEnd: (isLast: boolean) => void) {
    this.#socket = socket;
    this.#onEnd = onEnd;
  }

  get destroyed(): boolean {
    return !this.#socket.writable; // Nobody reads what is written from now on.
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
    if (this.headersSent) throw new Error('The head of this response was written already.');
    let fields = this.#fields;
    for (const name in headers) fields += toField(name, String(headers[name]));
    // Whoever gave a bad value can still say so in another head: only now it is this one.
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
    if (typeof chunk === 'string') return this.#socket.write(before + chunk + after);
    this.#socket.write(before);
    this.#socket.write(chunk);
    return this.#socket.write(after);
  }

  end(chunk = ''): this {
    if (this.writableEnded) return this;
    if (!this.headersSent) this.writeHead(200);
    if (this.#isChunked && this.#head !== '') {
      this.#isChunked = false; // All of it is known now.
      this.#head += `content-length: ${Buffer.byteLength(chunk)}\r\n`;
    }
    if (this.#isChunked) this.write(chunk);
    const rest = this.#isChunked ? '0\r\n\r\n' : this.#takeHead() + chunk;
    if (rest !== '' && !this.destroyed) this.#socket.write(rest);
    this.writableEnded = true;
    this.#uncork();
    // Nearly always the system has all of it by now. Where not, its client is slow, and gets no more until it has read.
    if (this.destroyed || this.#socket.writableLength === 0) this.#finish();
    else this.#socket.write('', () => this.#finish());
    return this;
  }

  destroy(): void {
    if (!this.writableEnded) this.#socket.destroy(); // Else the connection may be another's by now.
  }

  once(_event: 'close', listener: () => void): this {
    if (this.#isClosed) listener();
    else this.#onClose.push(listener);
    return this;
  }

  /** Tells those who wait for it that nothing more will be written. */
  closed(): void {
    this.#isClosed = true;
    for (const listener of this.#onClose.splice(0)) listener();
  }

  /** What is said within one turn goes out together. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#socket.cork();
    process.nextTick(() => this.#uncork());
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
    const head = `${this.#head}${more}${this.#isLast ? 'connection: close\r\n' : KEPT_ALIVE}\r\n`;
    this.#head = '';
    return head;
  }
}

/** One line of a head. Whether the connection is kept is written last, when it is certain. */
function toField(name: string, value: string): string {
  if (BAD_VALUE.test(value)) throw new TypeError(`The header ${name} has a value that cannot be sent.`);
  return name === 'connection' ? '' : `${name}: ${value}\r\n`;
}

/** How long a connection waits for another request. */
export const KEEP_ALIVE_MS = 65_000;
const KEPT_ALIVE = `connection: keep-alive\r\nkeep-alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n`;

let second = 0;
let written = '';

function httpDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now === second) return written;
  second = now;
  written = new Date(now * 1000).toUTCString();
  return written;
}
