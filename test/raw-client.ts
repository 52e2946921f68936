import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { until } from './until.ts';

export interface RawAnswer {
  readonly status: number;
  /** The header fields, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The writer: `plain` for the fast path, `node` for Node's HTTP server, which writes `Date` with a capital. */
  readonly way: 'plain' | 'node';
}

export interface RawClient {
  readonly socket: Socket;
  /** Returns all text received so far. */
  text(): string;
  /** Returns the complete responses. */
  answers(): readonly RawAnswer[];
  /** Waits for this number of responses and returns them. */
  answered(count: number): Promise<readonly RawAnswer[]>;
  /** Waits until the server ends the connection. Returns all responses. */
  ended(): Promise<readonly RawAnswer[]>;
}

/** Opens an HTTP client whose test writes the raw bytes. Closes it when the test ends. */
export async function rawClient({ port }: { readonly port: number }): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  onTestFinished(() => void socket.destroy());
  const chunks: Buffer[] = [];
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', over).on('end', over);
  await once(socket, 'connect');
  const text = () => Buffer.concat(chunks).toString('latin1');
  const answers = () => answersIn(text());
  return {
    socket,
    text,
    answers,
    async answered(count) {
      await until(`there are ${count} responses`, () => answers().length >= count);
      return answers();
    },
    async ended() {
      await until('the connection is ended', () => isOver);
      return answers();
    },
  };
}

function answersIn(text: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (let end = rest.indexOf('\r\n\r\n'); end >= 0; end = rest.indexOf('\r\n\r\n')) {
    const head = rest.slice(0, end);
    const [first = '', ...lines] = head.split('\r\n');
    const headers = Object.fromEntries(lines.map(fieldOf));
    const body = bodyIn(rest.slice(end + 4), headers);
    if (!body) break;
    const way = head.includes('\r\ndate: ') ? 'plain' : 'node';
    const utf8 = Buffer.from(body.text, 'latin1').toString();
    answers.push({ status: Number(first.split(' ')[1]), headers, body: utf8, way });
    rest = body.rest;
  }
  return answers;
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

interface Body {
  readonly text: string;
  /** The text after the body. */
  readonly rest: string;
}

function bodyIn(text: string, headers: Readonly<Record<string, string>>): Body | undefined {
  if (headers['transfer-encoding'] === 'chunked') return chunksIn(text);
  const length = Number(headers['content-length'] ?? 0);
  return text.length < length ? undefined : { text: text.slice(0, length), rest: text.slice(length) };
}

function chunksIn(text: string): Body | undefined {
  let [body, rest] = ['', text];
  for (;;) {
    const end = rest.indexOf('\r\n');
    const size = Number.parseInt(rest.slice(0, end), 16);
    const next = end + 2 + size;
    if (end < 0 || rest.length < next + 2) return undefined;
    body += rest.slice(end + 2, next);
    rest = rest.slice(next + 2);
    if (size === 0) return { text: body, rest };
  }
}
