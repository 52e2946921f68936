import type { ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { HttpClientTransport } from '../../src/upstream/transports/http-transport.ts';
import { SseClientTransport } from '../../src/upstream/transports/sse-transport.ts';
import { Peer } from '../../src/wire/peer.ts';
import type { Transport } from '../../src/wire/transport.ts';
import { verifies } from '../requirements.ts';
import { listen } from '../servers/http-servers.ts';
import { until } from '../until.ts';

const STREAM = { 'content-type': 'text/event-stream' };
const MAX_AT_ONCE = 32;
const MAX_ANSWERED = 256;

/** Starts a server that answers no POST except `notifications/initialized`, and counts the open ones. */
async function silentServer(hello = '') {
  const open = new Set<ServerResponse>();
  const streams: ServerResponse[] = [];
  const posted: JsonObject[] = [];
  const server = await listen(async (request, response) => {
    if (request.method === 'GET') {
      streams.push(response.writeHead(200, STREAM));
      return void response.write(hello || ': \n\n');
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(Buffer.concat(await request.toArray()).toString()) as JsonObject;
    if (message.method === 'notifications/initialized') return void response.writeHead(202).end();
    posted.push(message);
    open.add(response);
    response.on('close', () => open.delete(response));
  });
  const send = (message: JsonObject) =>
    streams[0]?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  onTestFinished(() => server.close());
  return { url: new URL(server.url), open, streams, posted, send };
}

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

type Options = ConstructorParameters<typeof HttpClientTransport>[0];
const KINDS: readonly [string, string, (options: Options) => Transport][] = [
  ['http', '', (options) => new HttpClientTransport(options)],
  [
    'sse',
    'event: endpoint\ndata: /messages\n\n',
    (options) => new SseClientTransport({ ...options, signal: new AbortController().signal }),
  ],
];

for (const [kind, hello, open] of KINDS) {
  const connect = async (acceptMs = 60_000) => {
    const server = await silentServer(hello);
    const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
    onTestFinished(() => dispatcher.destroy());
    const peer = new Peer(open({ server: 'demo', url: server.url, dispatcher, acceptMs }), { server: 'demo' });
    onTestFinished(() => peer.close());
    await peer.start();
    return { ...server, peer };
  };
  const start = async () => {
    const connected = await connect();
    await connected.peer.notify('notifications/initialized');
    await until('the stream is open', () => connected.streams.length === 1);
    return connected;
  };

  verifies('T6', `${kind}: keeps no socket for cancelled calls that the server does not answer`, async () => {
    const { peer, open: sockets, posted } = await start();
    const { signal, abort } = abortable();
    const calls = Array.from({ length: 20 }, () => peer.request('tools/call', {}, { deadlineMs: 60_000, signal }));
    await until('all calls have arrived', () => posted.length === 20);
    abort();
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    await until('all cancellations have arrived', () => posted.length === 40);
    await until('only the cancellations have sockets', () => sockets.size === 20);
    await peer.close();
    await until('no socket is left', () => sockets.size === 0);
  });

  verifies('T5', `${kind}: closes the sockets of messages that the server never accepted`, async () => {
    const { peer, open: sockets, posted } = await start();
    const notifications = Array.from({ length: 3 }, () => peer.notify('notifications/x'));
    const failed = Promise.all(
      notifications.map((one) => expect(one).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' })),
    );
    await until('the notifications have arrived', () => posted.length === 3);
    await peer.close();
    await failed;
    await until('no socket is left', () => sockets.size === 0);
    await expect(peer.notify('notifications/x')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
  });

  verifies(
    'T6',
    `${kind}: gives up a notification when it is aborted, and when the server does not accept it in time`,
    async () => {
      const { peer, open: sockets, posted } = await start();
      const { signal, abort } = abortable();
      const notified = peer.notify('notifications/x', {}, signal);
      await until('the notification has arrived', () => posted.length === 1);
      abort();
      await expect(notified).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
      await until('its socket is closed', () => sockets.size === 0);
      await expect(peer.notify('notifications/x', {}, signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
      expect(posted).toHaveLength(1);
      const impatient = await connect(50);
      await expect(impatient.peer.notify('notifications/x')).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
      await until('that socket is closed', () => impatient.open.size === 0);
    },
  );

  verifies('T5', `${kind}: answers a flood of requests, at most ${MAX_AT_ONCE} at a time`, async () => {
    const { open: sockets, posted, send } = await start();
    for (let id = 0; id < 300; id++) send({ id, method: 'ping' });
    let most = 0;
    for (let accepted = 0; accepted < 300; ) {
      const expected = Math.min(MAX_AT_ONCE, 300 - accepted);
      await until('the allowed number is open', () => sockets.size >= expected);
      most = Math.max(most, sockets.size);
      for (const response of [...sockets].slice(0, expected)) {
        sockets.delete(response);
        response.writeHead(202).end();
        accepted++;
      }
    }
    expect([most, posted.length]).toEqual([MAX_AT_ONCE, 300]);
  });

  verifies(
    'T5',
    `${kind}: keeps at most ${MAX_ANSWERED} sockets of calls that were answered on another stream`,
    async () => {
      const { peer, open: sockets, posted, send } = await start();
      for (let call = 1; call <= MAX_ANSWERED + 50; call++) {
        const answer = peer.request('tools/call', {}, { deadlineMs: 120_000 });
        await until('the call has arrived', () => posted.length === call);
        send({ id: posted.at(-1)?.id ?? null, result: {} });
        await answer;
      }
      await until('the oldest sockets are closed', () => sockets.size <= MAX_ANSWERED);
      await peer.close();
      await until('no socket is left', () => sockets.size === 0);
    },
  );
}
