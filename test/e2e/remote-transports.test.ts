import { expect, onTestFinished } from 'vitest';
import type { HeddleClient } from '../../src/index.ts';
import { within } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { startEverything } from '../servers/everything.ts';
import { sseServer } from '../servers/sse-servers.ts';
import { wsServer } from '../servers/ws-servers.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';

function open(entry: { readonly type: string; readonly url: string }): Promise<HeddleClient> {
  const up = { ...entry, trusted: true, reconnect: { delayMs: 10 } };
  return temporaryHeddleClient({ servers: { up: up as never } });
}

const said = (text: string) => ({ isError: false, value: { content: [{ type: 'text', text }] } });

for (const [type, transport] of [
  ['http', 'streamableHttp'],
  ['sse', 'sse'],
] as const) {
  verifies('T1', `lists and calls the reference server over ${transport}, with progress`, async () => {
    const server = await startEverything(transport);
    onTestFinished(() => server.close());
    const heddle = await open({ type, url: server.url });
    await expect(heddle.servers.connect('up')).resolves.toMatchObject({ state: 'connected', transport: type });
    const names = (await heddle.tools()).map(({ definition }) => definition.name);
    expect(names).toEqual(expect.arrayContaining(['echo', 'get-sum', 'trigger-long-running-operation']));
    await expect(heddle.call('up.echo', { message: 'é✓' })).resolves.toMatchObject(said('Echo: é✓'));
    const steps: unknown[] = [];
    const onProgress = (step: unknown) => void steps.push(step);
    await heddle.call('up.trigger-long-running-operation', { duration: 0.2, steps: 2 }, { onProgress });
    expect(steps).toMatchObject([{ progress: 1 }, { progress: 2 }]);
  });
}

verifies('T1', 'lists and calls an SDK server over WebSocket, and reconnects after the socket closed', async () => {
  const server = await wsServer();
  onTestFinished(() => server.close());
  const heddle = await open({ type: 'ws', url: server.url });
  await expect(heddle.call('up.echo', { text: 'one' })).resolves.toMatchObject(said('one'));
  for (const socket of server.sockets) socket.terminate();
  await until('the connection is open again', () => server.upgrades.length === 2);
  await expect(heddle.call('up.echo', { text: 'two' })).resolves.toMatchObject(said('two'));
  await heddle.close();
  await until('no socket is left', () => server.sockets.size === 0);
});

verifies('T5', 'fails a call over SSE at once when the stream closes, and reconnects', async () => {
  const server = await sseServer();
  onTestFinished(() => server.close());
  const heddle = await open({ type: 'sse', url: server.url });
  await heddle.servers.connect('up');
  const before = server.requests.length;
  const call = heddle.call('up.wait');
  call.catch(() => {});
  await until('the call has arrived', () => server.requests.length > before);
  await within(1000, async () => {
    for (const stream of server.streams) stream.destroy();
    await expect(call).rejects.toMatchObject({ fault: 'upstream' });
  });
  await until('another stream is open', () => server.streams.size === 1);
  await expect(heddle.call('up.echo', { text: 'again' })).resolves.toMatchObject(said('again'));
});
