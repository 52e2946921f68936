import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { FastResponse } from './fast-response.ts';

type Write = (response: FastResponse, socket: Socket) => void;

/** A server that answers whatever comes with the next of the given answers. */
async function answering(...answers: Write[]) {
  const ends: boolean[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      const response = new FastResponse(socket, (isLast) => {
        ends.push(isLast);
        if (isLast) socket.end();
      });
      socket.once('close', () => response.closed());
      answers.shift()?.(response, socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, ends };
}

interface Answered {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body came to its proper end. */
  readonly isComplete: boolean;
  readonly port: number | undefined;
}

/** Asks with the HTTP client of Node. */
function ask(port: number, agent: Agent): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, agent, method: 'POST' }, async (response) => {
      const { statusCode: status, headers, socket } = response;
      const { localPort } = socket;
      const body = await readText(response);
      resolve({ status, headers, body, isComplete: response.complete, port: localPort });
    });
    asked.on('error', reject).end();
  });
}

/** Gives what a client reads of an answer; a second one on the same line shows that the first ended where it should. */
async function readAnswer(write: Write): Promise<Answered> {
  const { port } = await answering(write, (response) => response.writeHead(200).end('the next'));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const answer = await ask(port, agent);
  expect(answer.isComplete).toBe(true);
  expect(await ask(port, agent)).toMatchObject({ body: 'the next', port: answer.port });
  return answer;
}

/** What went wrong on the other side, where nobody would see it. */
function thrownBy(step: () => unknown): string {
  try {
    step();
    return 'nothing';
  } catch (thrown) {
    return String(thrown);
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

describe('a plain response', () => {
  verifies('P1', 'of known length goes out in one write', async () => {
    let writes = 0;
    const { status, headers, body } = await readAnswer((response, socket) => {
      const write = vi.spyOn(socket, 'write');
      response.setHeader('mcp-session-id', 'a');
      response.writeHead(404, { ...JSON_TYPE, 'content-length': 5 }).end('naïf');
      writes = write.mock.calls.length;
      write.mockRestore();
    });
    expect([status, body, writes]).toEqual([404, 'naïf', 1]);
    expect(headers).toEqual({
      ...JSON_TYPE,
      'content-length': '5',
      'mcp-session-id': 'a',
      date: expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$/),
      connection: 'keep-alive',
      'keep-alive': 'timeout=65',
    });
  });

  it.each([
    ['a body', 'naïf', '5'],
    ['no body', undefined, '0'],
    ['an empty body', '', '0'],
  ])('P1: that ends at once with %s says how long it is', async (_, body, length) => {
    const answer = await readAnswer((response) => response.writeHead(202).end(body));
    expect([answer.status, answer.body]).toEqual([202, body ?? '']);
    expect(answer.headers).toMatchObject({ 'content-length': length });
    expect(answer.headers).not.toHaveProperty('transfer-encoding');
  });

  verifies('P1', 'that ends before anything else is a good one without a body', async () => {
    expect(await readAnswer((response) => response.end())).toMatchObject({ status: 200, body: '' });
  });

  it.each([
    ['texts', ['dä', 'ta: 1\n\n'], 'end'],
    ['texts, and nothing with its end', ['dä', 'ta'], undefined],
    ['bytes', [Buffer.from('dä'), Buffer.from('ta')], 'end'],
    ['texts and bytes', ['d', Buffer.from('ät'), 'a'], 'end'],
    ['something long', ['x'.repeat(100_000), Buffer.alloc(100_000, 'y')], 'end'],
    ['nothing between something', ['', 'd', '', Buffer.alloc(0), 'ät'], ''],
  ])('P1: of unknown length, of %s, is read as it was written', async (_, parts, last) => {
    const answer = await readAnswer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of parts) response.write(part);
      response.end(last);
    });
    expect(answer.body).toBe(parts.join('') + (last ?? ''));
    expect(answer.headers).toMatchObject({ 'transfer-encoding': 'chunked', 'content-type': 'text/event-stream' });
    expect(answer.headers).not.toHaveProperty('content-length');
  });

  it.each([
    ['texts', ['{"a":', '"ä"'], '}'],
    ['texts and bytes', ['{"a":', Buffer.from('"ä"')], '}'],
    ['bytes first', [Buffer.from('{"a":"ä"')], '}'],
    ['nothing at its end', ['{"a":"ä"}', ''], undefined],
  ])('P1: of known length, of %s, is read as it was written', async (_, parts, last) => {
    const { body, headers } = await readAnswer((response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': 10 });
      for (const part of parts) response.write(part);
      response.end(last);
    });
    expect(body).toBe('{"a":"ä"}');
    expect(headers).not.toHaveProperty('transfer-encoding');
  });

  it.each(['a\r\nset-cookie: b', 'a\nb', 'a\rb', 'a\0', 'a\x7f', '\u{100}'])(
    'P6: throws for the header value %j, and sends nothing of that head',
    async (bad) => {
      const head = { 'x-two': 'two', connection: 'close', 'content-length': 7, 'x-three': bad };
      const thrown: string[] = [];
      const { status, headers, body } = await readAnswer((response) => {
        thrown.push(thrownBy(() => response.setHeader('x-one', bad)));
        thrown.push(thrownBy(() => response.writeHead(200, head)));
        if (!response.headersSent) response.writeHead(500);
        response.end('no');
      });
      expect(thrown).toEqual([expect.stringContaining('x-one'), expect.stringContaining('x-three')]);
      expect([status, body]).toEqual([500, 'no']);
      const names = ['connection', 'content-length', 'date', 'keep-alive'];
      expect([Object.keys(headers).sort(), headers.connection]).toEqual([names, 'keep-alive']);
    },
  );

  verifies('P6', 'has one head', async () => {
    let thrown = '';
    const answer = await readAnswer((response) => {
      response.writeHead(200);
      thrown = thrownBy(() => response.writeHead(500));
      response.end('yes');
    });
    expect([answer.status, answer.body, thrown]).toEqual([200, 'yes', expect.stringContaining('already')]);
  });

  it.each<[string, Write]>([
    ['before its head', (response) => response.setHeader('connection', 'close').writeHead(200).end('a')],
    ['in its head', (response) => response.writeHead(200, { connection: 'close' }).end('a')],
  ])('P1: that is told to close %s is the last on its line', async (_, write) => {
    const { port, ends } = await answering(write);
    const agent = new Agent({ keepAlive: true });
    const { body, headers } = await ask(port, agent);
    expect([body, headers.connection, headers['keep-alive'], ends]).toEqual(['a', 'close', undefined, [true]]);
  });

  verifies('P6', 'takes nothing after its end', async () => {
    let taken: unknown;
    const answer = await readAnswer((response) => {
      response.writeHead(200).end('all');
      taken = response.write('more');
      response.end('more');
    });
    expect([answer.body, taken]).toEqual(['all', false]);
  });
});

/** A response whose client can leave. */
async function begun(): Promise<{ response: FastResponse; socket: Socket; client: Socket; errors: unknown[] }> {
  const { promise, resolve } = Promise.withResolvers<[FastResponse, Socket]>();
  const { port } = await answering((...begun) => resolve(begun));
  const client = connect(port, '127.0.0.1').resume();
  onTestFinished(() => void client.destroy());
  client.write('hello');
  const [response, socket] = await promise;
  const errors: unknown[] = [];
  socket.on('error', (error) => errors.push(error));
  return { response, socket, client, errors };
}

const gone = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

describe('whoever waits for the end of a plain response', () => {
  verifies('F6', 'hears once that it was answered', async () => {
    const { response, socket, client } = await begun();
    const heard: boolean[] = [];
    response.once('close', () => heard.push(response.writableFinished));
    response.writeHead(200).end('all');
    expect([heard, response.writableEnded]).toEqual([[true], true]);
    client.destroy();
    await gone(socket);
    expect(heard).toEqual([true]);
  });

  it.each([
    ['before anything was written', () => {}],
    ['while it is written', (response: FastResponse) => response.writeHead(200).write('some')],
  ])('F6: hears once that the client left %s', async (_, write) => {
    const { response, socket, client, errors } = await begun();
    const heard: boolean[] = [];
    response.once('close', () => heard.push(response.writableFinished));
    write(response);
    client.destroy();
    await gone(socket);
    expect([heard, response.destroyed]).toEqual([[false], true]);
    errors.length = 0;
    if (!response.headersSent) response.writeHead(200);
    response.write('more');
    response.write(Buffer.from('more'));
    response.end('all');
    expect([heard, response.writableFinished]).toEqual([[false], false]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toEqual([]);
  });

  it.each([
    ['that it was answered when a slow client has read all of it', true],
    ['that a slow client left before it had read all of it', false],
  ])('F6: hears %s', async (_, reads) => {
    const { response, client } = await begun();
    client.pause();
    const heard = Promise.withResolvers<boolean>();
    let times = 0;
    response.once('close', () => {
      times += 1;
      heard.resolve(response.writableFinished);
    });
    response.writeHead(200).end('x'.repeat(20_000_000));
    expect([response.writableEnded, response.writableFinished, times]).toEqual([true, false, 0]);
    if (reads) client.resume();
    else client.destroy();
    expect([await heard.promise, times]).toEqual([reads, 1]);
  });

  verifies('F6', 'hears that it is over when somebody cuts it', async () => {
    const { response, socket } = await begun();
    const heard: boolean[] = [];
    response.once('close', () => heard.push(response.writableFinished));
    response.destroy();
    await gone(socket);
    expect(heard).toEqual([false]);
  });

  verifies('F6', 'is not told that it was answered on a line that takes no more', async () => {
    const { response, socket, errors } = await begun();
    socket.end();
    response.writeHead(200).write('some');
    response.end('all');
    expect([response.destroyed, response.writableFinished]).toEqual([true, false]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toEqual([]);
  });
});
