import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { recordingServer, text } from '../../../test/servers/recording-server.ts';
import { resourceServer } from '../../../test/servers/resource-server.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import type { InProcessServer } from '../../upstream/lifecycle/programmatic-servers.ts';
import { gatewayUnderTest, modern, OWNER } from '../fixtures.ts';
import { serveStdio } from './serve-stdio.ts';

const serving = () => servingOf(recordingServer({ do: () => text('done'), forever: () => new Promise(() => {}) }));

async function servingOf<T extends InProcessServer>(server: T) {
  const { heddle } = await gatewayUnderTest({ servers: { up: server } });
  const input = new PassThrough();
  const output = new PassThrough();
  const stop = new AbortController();
  let written = '';
  output.on('data', (chunk) => (written += chunk));
  const ended = serveStdio({ heddle, caller: OWNER, input, output }, stop.signal);
  onTestFinished(() => stop.abort());
  const received = () => written.split('\n').flatMap((line) => (line ? [JSON.parse(line) as JsonObject] : []));
  const write = (line: string) => void input.write(`${line}\n`);
  async function request(message: JsonObject): Promise<JsonObject> {
    write(JSON.stringify({ jsonrpc: '2.0', ...message }));
    await until(`${message.method} is answered`, () => received().some(({ id }) => id === message.id));
    return received().find(({ id }) => id === message.id) as JsonObject;
  }
  return { request, write, received, input, output, stop, ended, server, heddle };
}

const callOf = (name: string, id: number) => ({ id, method: 'tools/call', params: { name, arguments: {} } });

describe('stdio', () => {
  verifies('P1', 'serves clients of both eras', async () => {
    const { request } = await serving();
    const hello = await request({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } });
    expect(hello.result).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'heddle' } });
    expect(await request(callOf('mcp__up__do', 2))).toEqual({ jsonrpc: '2.0', id: 2, result: text('done') });
    const [call] = modern('tools/call', { name: 'mcp__up__do', arguments: {} });
    expect((await request({ ...call, id: 3 })).result).toEqual({ resultType: 'complete', ...text('done') });
    const [discover] = modern('server/discover');
    expect((await request({ ...discover, id: 4 })).result).toMatchObject({ supportedVersions: ['2026-07-28'] });
  });

  verifies('P6', 'refuses an unknown protocol version and an incomplete envelope', async () => {
    const { request } = await serving();
    const key = 'io.modelcontextprotocol/protocolVersion';
    const capabilities = { 'io.modelcontextprotocol/clientCapabilities': {} };
    const future = await request({
      id: 1,
      method: 'tools/list',
      params: { _meta: { [key]: '2099-01-01', ...capabilities } },
    });
    expect(future.error).toMatchObject({ code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } });
    const half = await request({ id: 2, method: 'tools/list', params: { _meta: { [key]: '2026-07-28' } } });
    expect(half.error).toMatchObject({ code: -32602 });
  });

  it.each([
    ['broken JSON', '{"jsonrpc"', -32700],
    ['a key written twice', '{"id":1,"id":2,"method":"ping"}', -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['a number', '7', -32600],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
    ['an id too large to repeat', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', -32600],
    ['parameters in a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
    ['no version of JSON-RPC', '{"id":1,"method":"ping"}', -32600],
    ['a line that is too long', `{"x":"${'x'.repeat(17 * 1024 * 1024)}"}`, -32600],
  ])('P6: refuses %s and reads the next line', async (_, line, code) => {
    const { request, write, received } = await serving();
    write(line);
    expect((await request({ id: 'after', method: 'ping' })).result).toEqual({});
    expect(received()[0]).toMatchObject({ id: null, error: { code } });
  });

  verifies('P1', 'cancels a cancelled call at the server and sends no response', async () => {
    const { request, write, received, server } = await serving();
    write(JSON.stringify({ jsonrpc: '2.0', ...callOf('mcp__up__forever', 5) }));
    await until('the call has arrived', () => server.calls.length === 1);
    write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }));
    await until('the call is cancelled', () => server.cancelled.length === 1);
    await request({ id: 6, method: 'ping' });
    expect(received().map(({ id }) => id)).toEqual([6]);
  });

  verifies('P1', 'ends when the input is destroyed, which cancels calls, and when the signal aborts', async () => {
    const { write, input, ended, server } = await serving();
    write(JSON.stringify({ jsonrpc: '2.0', ...callOf('mcp__up__forever', 5) }));
    await until('the call has arrived', () => server.calls.length === 1);
    input.destroy();
    await ended;
    await until('the call is cancelled', () => server.cancelled.length === 1);
    const other = await serving();
    other.stop.abort();
    await other.ended;
  });
});

describe('a stdio client', () => {
  const waiting = async () => {
    const gate = Promise.withResolvers<JsonObject>();
    const server = recordingServer({ wait: () => gate.promise, forever: () => new Promise(() => {}) });
    return { gate, ...(await servingOf(server)) };
  };
  const begin = async (serving: Awaited<ReturnType<typeof waiting>>, name: string) => {
    serving.write(JSON.stringify({ jsonrpc: '2.0', ...callOf(`mcp__up__${name}`, 5) }));
    await until('the call has arrived', () => serving.server.calls.length === 1);
  };

  verifies('P6', 'that has ended its input still gets its responses', async () => {
    const serving = await waiting();
    await begin(serving, 'wait');
    serving.input.end();
    await new Promise((resolve) => serving.input.once('end', resolve));
    serving.gate.resolve(text('late'));
    await serving.ended;
    expect(serving.received()).toEqual([{ jsonrpc: '2.0', id: 5, result: text('late') }]);
  });

  verifies('P6', 'gets its responses after the signal aborts, and the end of its subscriptions/listen', async () => {
    const serving = await waiting();
    const [listen] = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    serving.write(JSON.stringify({ jsonrpc: '2.0', ...listen, id: 'sub' }));
    await begin(serving, 'wait');
    serving.stop.abort();
    await until('subscriptions/listen is answered', () => serving.received().some(({ id }) => id === 'sub'));
    serving.gate.resolve(text('late'));
    await serving.ended;
    expect(serving.received().at(-1)).toEqual({ jsonrpc: '2.0', id: 5, result: text('late') });
  });

  verifies('P6', 'that has ended its input is disconnected at once when the signal aborts', async () => {
    const serving = await waiting();
    await begin(serving, 'forever');
    serving.input.end();
    await new Promise((resolve) => serving.input.once('end', resolve));
    serving.stop.abort();
    await serving.ended;
    await until('the call is cancelled', () => serving.server.cancelled.length === 1);
  });

  verifies('F6', 'that cannot be written to is disconnected, and its call is cancelled', async () => {
    const serving = await waiting();
    await serving.request({ id: 1, method: 'initialize', params: {} });
    await begin(serving, 'forever');
    serving.output._write = (_chunk, _encoding, done) => done(new Error('EPIPE'));
    serving.output.removeAllListeners('data');
    serving.input.end();
    await until('the call is cancelled', () => serving.server.cancelled.length === 1);
    await serving.ended;
  });

  verifies('F6', 'with more than 32 MB unread is disconnected', async () => {
    const big = 'x'.repeat(10_000_000);
    const { input, output, ended, write } = await servingOf(recordingServer({ big: () => text(big) }));
    output.removeAllListeners('data');
    output.pause();
    for (let id = 1; id <= 10; id++) write(JSON.stringify({ jsonrpc: '2.0', ...callOf('mcp__up__big', id) }));
    await ended;
    expect(output.writableLength + output.readableLength).toBeLessThan(90_000_000);
    expect(input.isPaused()).toBe(true);
  });

  verifies('P6', 'may send batches in 2025-03-26', async () => {
    const { request, write, received } = await serving();
    await request({ id: 1, method: 'initialize', params: { protocolVersion: '2025-03-26' } });
    const ping = { jsonrpc: '2.0', method: 'ping' };
    write(JSON.stringify([{ ...ping, id: 2 }, { ...ping, id: null }, { ...ping, id: 'three' }, []]));
    await until('all are answered', () => received().length === 2);
    expect(received()[1]).toHaveLength(4);
    expect(received()[1]).toEqual(
      expect.arrayContaining([
        { jsonrpc: '2.0', id: 2, result: {} },
        { jsonrpc: '2.0', id: 'three', result: {} },
        { jsonrpc: '2.0', id: null, error: { code: -32600, message: expect.stringMatching(/\w/) } },
      ]),
    );
  });
});

describe('changes over stdio', () => {
  const changed = (messages: JsonObject[]) =>
    messages.filter(({ method }) => method === 'notifications/tools/list_changed');

  verifies('P1', 'are sent to an initialized client', async () => {
    const { request, received, server } = await serving();
    await request({ id: 1, method: 'initialize', params: {} });
    expect(received()[0]).toMatchObject({ id: 1 }); // No notification comes before the response.
    await request({ id: 2, method: 'tools/list' });
    const before = changed(received()).length;
    server.change({ other: () => text('') });
    await until('the notification is received', () => changed(received()).length > before);
  });

  verifies('P1', 'are sent to a modern client only during subscriptions/listen', async () => {
    const { request, write, received, server, heddle } = await serving();
    const [list] = modern('tools/list');
    await request({ ...list, id: 1 });
    const [listen] = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    write(JSON.stringify({ jsonrpc: '2.0', ...listen, id: 'sub' }));
    await until('it is acknowledged', () => received().length === 2);
    server.change({ other: () => text('') });
    await until('the notification is received', () => changed(received()).length === 1);
    expect(changed(received())).toMatchObject([
      { params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' } } },
    ]);
    write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'sub' } }));
    const seen = heddle.changes(OWNER, AbortSignal.timeout(60_000))[Symbol.asyncIterator]();
    server.change({ third: () => text('') });
    for (let next = await seen.next(); !next.done && next.value.kind !== 'catalog'; next = await seen.next());
    await request({ id: 9, method: 'ping' });
    expect(changed(received())).toHaveLength(1);
  });

  verifies('R6', 'of a resource are sent to its subscriber until it disconnects', async () => {
    const server = resourceServer({ resources: [{ uri: 'u:1', name: 'one' }] });
    const { request, received, input, ended } = await servingOf(server);
    await request({ id: 1, method: 'initialize', params: {} });
    expect((await request({ id: 2, method: 'resources/subscribe', params: { uri: 'u:1' } })).result).toEqual({});
    server.update('u:1');
    const updates = () => received().filter(({ method }) => method === 'notifications/resources/updated');
    await until('the notification is received', () => updates().length === 1);
    expect(updates()).toMatchObject([{ params: { uri: 'u:1' } }]);
    input.end();
    await ended;
    await until('the server has no subscription', () => server.subscribedUris.size === 0);
  });

  verifies('R6', 'of a resource are not sent after the client has cancelled its subscribe request', async () => {
    const server = resourceServer({ resources: [{ uri: 'u:1', name: 'one' }] });
    const { request, write, heddle } = await servingOf(server);
    await heddle.catalog.list(OWNER, { kind: 'resource' });
    const release = server.delayResponses('resources/subscribe');
    write(JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'resources/subscribe', params: { uri: 'u:1' } }));
    await until('the subscribe request has arrived', () => server.count('resources/subscribe') === 1);
    write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }));
    await request({ id: 6, method: 'ping' });
    release();
    await until('the server gets unsubscribe', () => server.count('resources/unsubscribe') > 0);
  });
});
