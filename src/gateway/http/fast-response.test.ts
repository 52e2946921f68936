import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { UnsentBytes } from '../unsent-bytes.ts';
import { FastResponse } from './fast-response.ts';

type Write = (response: FastResponse, socket: Socket) => void;

/** Starts a server that responds to each request with the next of the given writers. */
async function serverWith(...writers: Write[]) {
  const ends: boolean[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      const response = new FastResponse(socket, new UnsentBytes(), (isLast) => {
        ends.push(isLast);
        if (isLast) socket.end();
      });
      socket.once('close', () => response.closed());
      writers.shift()?.(response, socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, ends };
}

interface ReceivedResponse {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** True if the body ended properly. */
  readonly isComplete: boolean;
  readonly port: number | undefined;
}

/** Sends a request with Node's HTTP client. */
function send(port: number, agent: Agent): Promise<ReceivedResponse> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, agent, method: 'POST' }, async (response) => {
      const { statusCode: status, headers, socket } = response;
      const { localPort } = socket;
      const body = await readText(response);
      resolve({ status, headers, body, isComplete: response.complete, port: localPort });
    });
    sent.on('error', reject).end();
  });
}

/** Returns what a client reads. A second response on the same connection shows that the first ended properly. */
async function readResponse(write: Write): Promise<ReceivedResponse> {
  const { port } = await serverWith(write, (response) => response.writeHead(200).end('the next'));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const received = await send(port, agent);
  expect(received.isComplete).toBe(true);
  expect(await send(port, agent)).toMatchObject({ body: 'the next', port: received.port });
  return received;
}

/** Returns the error that a step throws, as text. */
function thrownBy(step: () => unknown): string {
  try {
    step();
    return 'nothing';
  } catch (thrown) {
    return String(thrown);
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

describe('FastResponse', () => {
  verifies('P1', 'sends a response of known length in one write', async () => {
    let writes = 0;
    const { status, headers, body } = await readResponse((response, socket) => {
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
  ])('P1: sends content-length for %s', async (_, body, length) => {
    const received = await readResponse((response) => response.writeHead(202).end(body));
    expect([received.status, received.body]).toEqual([202, body ?? '']);
    expect(received.headers).toMatchObject({ 'content-length': length });
    expect(received.headers).not.toHaveProperty('transfer-encoding');
  });

  verifies('P1', 'sends an empty 200 if only end() is called', async () => {
    expect(await readResponse((response) => response.end())).toMatchObject({ status: 200, body: '' });
  });

  it.each([
    ['strings', ['dä', 'ta: 1\n\n'], 'end'],
    ['strings, and an end without data', ['dä', 'ta'], undefined],
    ['bytes', [Buffer.from('dä'), Buffer.from('ta')], 'end'],
    ['strings and bytes', ['d', Buffer.from('ät'), 'a'], 'end'],
    ['long parts', ['x'.repeat(100_000), Buffer.alloc(100_000, 'y')], 'end'],
    ['empty parts', ['', 'd', '', Buffer.alloc(0), 'ät'], ''],
  ])('P1: sends chunks of unknown length: %s', async (_, parts, last) => {
    const received = await readResponse((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of parts) response.write(part);
      response.end(last);
    });
    expect(received.body).toBe(parts.join('') + (last ?? ''));
    expect(received.headers).toMatchObject({ 'transfer-encoding': 'chunked', 'content-type': 'text/event-stream' });
    expect(received.headers).not.toHaveProperty('content-length');
  });

  it.each([
    ['strings', ['{"a":', '"ä"'], '}'],
    ['strings and bytes', ['{"a":', Buffer.from('"ä"')], '}'],
    ['bytes first', [Buffer.from('{"a":"ä"')], '}'],
    ['an end without data', ['{"a":"ä"}', ''], undefined],
  ])('P1: sends parts of known length: %s', async (_, parts, last) => {
    const { body, headers } = await readResponse((response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': 10 });
      for (const part of parts) response.write(part);
      response.end(last);
    });
    expect(body).toBe('{"a":"ä"}');
    expect(headers).not.toHaveProperty('transfer-encoding');
  });

  it.each(['a\r\nset-cookie: b', 'a\nb', 'a\rb', 'a\0', 'a\x7f', '\u{100}'])(
    'P6: throws for the header value %j and sends nothing of that head',
    async (bad) => {
      const head = { 'x-two': 'two', connection: 'close', 'content-length': 7, 'x-three': bad };
      const thrown: string[] = [];
      const { status, headers, body } = await readResponse((response) => {
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

  verifies('P6', 'throws for a second head', async () => {
    let thrown = '';
    const received = await readResponse((response) => {
      response.writeHead(200);
      thrown = thrownBy(() => response.writeHead(500));
      response.end('yes');
    });
    expect([received.status, received.body, thrown]).toEqual([200, 'yes', expect.stringContaining('already')]);
  });

  it.each<[string, Write]>([
    ['before its head', (response) => response.setHeader('connection', 'close').writeHead(200).end('a')],
    ['in its head', (response) => response.writeHead(200, { connection: 'close' }).end('a')],
  ])('P1: closes the connection if `connection: close` is set %s', async (_, write) => {
    const { port, ends } = await serverWith(write);
    const agent = new Agent({ keepAlive: true });
    const { body, headers } = await send(port, agent);
    expect([body, headers.connection, headers['keep-alive'], ends]).toEqual(['a', 'close', undefined, [true]]);
  });

  verifies('P6', 'ignores writes after the end', async () => {
    let taken: unknown;
    const received = await readResponse((response) => {
      response.writeHead(200).end('all');
      taken = response.write('more');
      response.end('more');
    });
    expect([received.body, taken]).toEqual(['all', false]);
  });
});

/** Begins a response whose client can disconnect. */
async function begun(): Promise<{ response: FastResponse; socket: Socket; client: Socket; errors: unknown[] }> {
  const { promise, resolve } = Promise.withResolvers<[FastResponse, Socket]>();
  const { port } = await serverWith((...begun) => resolve(begun));
  const client = connect(port, '127.0.0.1').resume();
  onTestFinished(() => void client.destroy());
  client.write('hello');
  const [response, socket] = await promise;
  const errors: unknown[] = [];
  socket.on('error', (error) => errors.push(error));
  return { response, socket, client, errors };
}

const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

describe('the close event of a FastResponse', () => {
  verifies('F6', 'comes once, with writableFinished set', async () => {
    const { response, socket, client } = await begun();
    const events: boolean[] = [];
    response.once('close', () => events.push(response.writableFinished));
    response.writeHead(200).end('all');
    expect([events, response.writableEnded]).toEqual([[true], true]);
    client.destroy();
    await closed(socket);
    expect(events).toEqual([true]);
  });

  it.each([
    ['before anything was written', () => {}],
    ['while it is written', (response: FastResponse) => response.writeHead(200).write('some')],
  ])('F6: comes once if the client disconnects %s', async (_, write) => {
    const { response, socket, client, errors } = await begun();
    const events: boolean[] = [];
    response.once('close', () => events.push(response.writableFinished));
    write(response);
    client.destroy();
    await closed(socket);
    expect([events, response.destroyed]).toEqual([[false], true]);
    errors.length = 0;
    if (!response.headersSent) response.writeHead(200);
    response.write('more');
    response.write(Buffer.from('more'));
    response.end('all');
    expect([events, response.writableFinished]).toEqual([[false], false]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toEqual([]);
  });

  it.each([
    ['comes finished after a slow client has read everything', true],
    ['comes unfinished if a slow client disconnects', false],
  ])('F6: %s', async (_, reads) => {
    const { response, client } = await begun();
    client.pause();
    const closedAs = Promise.withResolvers<boolean>();
    let times = 0;
    response.once('close', () => {
      times += 1;
      closedAs.resolve(response.writableFinished);
    });
    response.writeHead(200).end('x'.repeat(20_000_000));
    expect([response.writableEnded, response.writableFinished, times]).toEqual([true, false, 0]);
    if (reads) client.resume();
    else client.destroy();
    expect([await closedAs.promise, times]).toEqual([reads, 1]);
  });

  verifies('F6', 'comes after destroy()', async () => {
    const { response, socket } = await begun();
    const events: boolean[] = [];
    response.once('close', () => events.push(response.writableFinished));
    response.destroy();
    await closed(socket);
    expect(events).toEqual([false]);
  });

  verifies('F6', 'does not set writableFinished on a socket that has ended', async () => {
    const { response, socket, errors } = await begun();
    socket.end();
    response.writeHead(200).write('some');
    response.end('all');
    expect([response.destroyed, response.writableFinished]).toEqual([true, false]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toEqual([]);
  });
});
