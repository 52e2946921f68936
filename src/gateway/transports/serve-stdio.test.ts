import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { readingServer } from '../../../test/servers/reading-server.ts';
import { recordingServer, text } from '../../../test/servers/recording-server.ts';
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
  const said = () => written.split('\n').flatMap((line) => (line ? [JSON.parse(line) as JsonObject] : []));
  const write = (line: string) => void input.write(`${line}\n`);
  async function ask(message: JsonObject): Promise<JsonObject> {
    write(JSON.stringify({ jsonrpc: '2.0', ...message }));
    await until(`${message.method} is answered`, () => said().some(({ id }) => id === message.id));
    return said().find(({ id }) => id === message.id) as JsonObject;
  }
  return { ask, write, said, input, output, stop, ended, server, heddle };
}

const callOf = (name: string, id: number) => ({ id, method: 'tools/call', params: { name, arguments: {} } });

describe('over two streams', () => {
  verifies('P1', 'both eras are spoken', async () => {
    const { ask } = await serving();
    const hello = await ask({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } });
    expect(hello.result).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'heddle' } });
    expect(await ask(callOf('mcp__up__do', 2))).toEqual({ jsonrpc: '2.0', id: 2, result: text('done') });
    const [call] = modern('tools/call', { name: 'mcp__up__do', arguments: {} });
    expect((await ask({ ...call, id: 3 })).result).toEqual({ resultType: 'complete', ...text('done') });
    const [discover] = modern('server/discover');
    expect((await ask({ ...discover, id: 4 })).result).toMatchObject({ supportedVersions: ['2026-07-28'] });
  });

  verifies('P6', 'an envelope of an unknown version, or half of one, is refused', async () => {
    const { ask } = await serving();
    const key = 'io.modelcontextprotocol/protocolVersion';
    const capabilities = { 'io.modelcontextprotocol/clientCapabilities': {} };
    const future = await ask({
      id: 1,
      method: 'tools/list',
      params: { _meta: { [key]: '2099-01-01', ...capabilities } },
    });
    expect(future.error).toMatchObject({ code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } });
    const half = await ask({ id: 2, method: 'tools/list', params: { _meta: { [key]: '2026-07-28' } } });
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
  ])('P6: %s is refused, and the next line is read', async (_, line, code) => {
    const { ask, write, said } = await serving();
    write(line);
    expect((await ask({ id: 'after', method: 'ping' })).result).toEqual({});
    expect(said()[0]).toMatchObject({ id: null, error: { code } });
  });

  verifies('P1', 'a cancelled call is cancelled at the server and gets no answer', async () => {
    const { ask, write, said, server } = await serving();
    write(JSON.stringify({ jsonrpc: '2.0', ...callOf('mcp__up__forever', 5) }));
    await until('it has arrived', () => server.calls.length === 1);
    write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }));
    await until('it is cancelled', () => server.cancelled.length === 1);
    await ask({ id: 6, method: 'ping' });
    expect(said().map(({ id }) => id)).toEqual([6]);
  });

  verifies('P1', 'it ends when the client hangs up, cancelling what runs, and when it is told to', async () => {
    const { write, input, ended, server } = await serving();
    write(JSON.stringify({ jsonrpc: '2.0', ...callOf('mcp__up__forever', 5) }));
    await until('it has arrived', () => server.calls.length === 1);
    input.destroy();
    await ended;
    await until('it is cancelled', () => server.cancelled.length === 1);
    const other = await serving();
    other.stop.abort();
    await other.ended;
  });
});

describe('a client at the other end of two streams', () => {
  const waiting = async () => {
    const gate = Promise.withResolvers<JsonObject>();
    const server = recordingServer({ wait: () => gate.promise, forever: () => new Promise(() => {}) });
    return { gate, ...(await servingOf(server)) };
  };
  const begin = async (serving: Awaited<ReturnType<typeof waiting>>, name: string) => {
    serving.write(JSON.stringify({ jsonrpc: '2.0', ...callOf(`mcp__up__${name}`, 5) }));
    await until('it has arrived', () => serving.server.calls.length === 1);
  };

  verifies('P6', 'that has said its last is still answered, and then left', async () => {
    const serving = await waiting();
    await begin(serving, 'wait');
    serving.input.end();
    await new Promise((resolve) => serving.input.once('end', resolve));
    serving.gate.resolve(text('late'));
    await serving.ended;
    expect(serving.said()).toEqual([{ jsonrpc: '2.0', id: 5, result: text('late') }]);
  });

  verifies('P6', 'is answered by one who was told to go, and a listener is told that it is over', async () => {
    const serving = await waiting();
    const [listen] = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    serving.write(JSON.stringify({ jsonrpc: '2.0', ...listen, id: 'sub' }));
    await begin(serving, 'wait');
    serving.stop.abort();
    await until('the listener is answered', () => serving.said().some(({ id }) => id === 'sub'));
    serving.gate.resolve(text('late'));
    await serving.ended;
    expect(serving.said().at(-1)).toEqual({ jsonrpc: '2.0', id: 5, result: text('late') });
  });

  verifies('P6', 'that said its last and then tells us to go is not waited for', async () => {
    const serving = await waiting();
    await begin(serving, 'forever');
    serving.input.end();
    await new Promise((resolve) => serving.input.once('end', resolve));
    serving.stop.abort();
    await serving.ended;
    await until('it is cancelled', () => serving.server.cancelled.length === 1);
  });

  verifies('F6', 'that can no longer be written to is gone, and its call is cancelled within a second', async () => {
    const serving = await waiting();
    await serving.ask({ id: 1, method: 'initialize', params: {} });
    await begin(serving, 'forever');
    serving.output._write = (_chunk, _encoding, done) => done(new Error('EPIPE'));
    serving.output.removeAllListeners('data');
    serving.input.end();
    await until('it is cancelled', () => serving.server.cancelled.length === 1);
    await serving.ended;
  });

  verifies('F6', 'that does not read is cut off when too much waits for it', async () => {
    const big = 'x'.repeat(10_000_000);
    const { input, output, ended, write } = await servingOf(recordingServer({ big: () => text(big) }));
    output.removeAllListeners('data');
    output.pause();
    for (let id = 1; id <= 10; id++) write(JSON.stringify({ jsonrpc: '2.0', ...callOf('mcp__up__big', id) }));
    await ended;
    expect(output.writableLength + output.readableLength).toBeLessThan(90_000_000);
    expect(input.isPaused()).toBe(true);
  });

  verifies('P6', 'may send batches in the one version that has them', async () => {
    const { ask, write, said } = await serving();
    await ask({ id: 1, method: 'initialize', params: { protocolVersion: '2025-03-26' } });
    const ping = { jsonrpc: '2.0', method: 'ping' };
    write(JSON.stringify([{ ...ping, id: 2 }, { ...ping, id: null }, { ...ping, id: 'three' }, []]));
    await until('all are answered', () => said().length === 2);
    expect(said()[1]).toHaveLength(4);
    expect(said()[1]).toEqual(
      expect.arrayContaining([
        { jsonrpc: '2.0', id: 2, result: {} },
        { jsonrpc: '2.0', id: 'three', result: {} },
        { jsonrpc: '2.0', id: null, error: { code: -32600, message: expect.stringMatching(/\w/) } },
      ]),
    );
  });
});

describe('changes over two streams', () => {
  const changed = (messages: JsonObject[]) =>
    messages.filter(({ method }) => method === 'notifications/tools/list_changed');

  verifies('P1', 'are told to a client that has said hello', async () => {
    const { ask, said, server } = await serving();
    await ask({ id: 1, method: 'initialize', params: {} });
    expect(said()[0]).toMatchObject({ id: 1 }); // And of nothing before it has the answer.
    await ask({ id: 2, method: 'tools/list' });
    const before = changed(said()).length;
    server.change({ other: () => text('') });
    await until('it is told', () => changed(said()).length > before);
  });

  verifies('P1', 'are told to a stateless client only when it listens', async () => {
    const { ask, write, said, server, heddle } = await serving();
    const [list] = modern('tools/list');
    await ask({ ...list, id: 1 });
    const [listen] = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    write(JSON.stringify({ jsonrpc: '2.0', ...listen, id: 'sub' }));
    await until('it is acknowledged', () => said().length === 2);
    server.change({ other: () => text('') });
    await until('it is told', () => changed(said()).length === 1);
    expect(changed(said())).toMatchObject([{ params: { _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' } } }]);
    write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'sub' } }));
    const seen = heddle.changes(OWNER, AbortSignal.timeout(60_000))[Symbol.asyncIterator]();
    server.change({ third: () => text('') });
    for (let next = await seen.next(); !next.done && next.value.kind !== 'catalog'; next = await seen.next());
    await ask({ id: 9, method: 'ping' });
    expect(changed(said())).toHaveLength(1);
  });

  verifies('R6', 'of a resource are told to whoever follows it, until it hangs up', async () => {
    const server = readingServer({ resources: [{ uri: 'u:1', name: 'one' }] });
    const { ask, said, input, ended } = await servingOf(server);
    await ask({ id: 1, method: 'initialize', params: {} });
    expect((await ask({ id: 2, method: 'resources/subscribe', params: { uri: 'u:1' } })).result).toEqual({});
    server.update('u:1');
    const updates = () => said().filter(({ method }) => method === 'notifications/resources/updated');
    await until('it is told', () => updates().length === 1);
    expect(updates()).toMatchObject([{ params: { uri: 'u:1' } }]);
    input.end();
    await ended;
    await until('nobody follows it', () => server.followed.size === 0);
  });

  verifies('R6', 'are not told of what a client gave up to follow before it was answered', async () => {
    const server = readingServer({ resources: [{ uri: 'u:1', name: 'one' }] });
    const { ask, write, heddle } = await servingOf(server);
    await heddle.catalog.list(OWNER, { kind: 'resource' });
    const answer = server.hold('resources/subscribe');
    write(JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'resources/subscribe', params: { uri: 'u:1' } }));
    await until('it is asked', () => server.count('resources/subscribe') === 1);
    write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }));
    await ask({ id: 6, method: 'ping' });
    answer();
    await until('the server is told so', () => server.count('resources/unsubscribe') > 0);
  });
});
