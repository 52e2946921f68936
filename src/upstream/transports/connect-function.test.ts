import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { serverOf, tinyServer, toolCall } from '../fixtures.ts';
import { connectFunction } from './connect-function.ts';

const signal = new AbortController().signal;
const base = { server: 'workflow', signal, known: undefined, capabilities: NO_CAPABILITIES };
const done = (value: JsonObject): Result => ({
  kind: 'complete',
  value,
  isError: false,
  provenance: { server: 'workflow', attempts: 1, latencyMs: 0 },
});

/** Creates a function whose tools can be replaced and whose calls are recorded. */
function functionServer(run: (call: ResolvedCall) => Promise<Result> = async () => done({})) {
  const watchers = new Set<() => void>();
  const state = { tools: [{ name: 'one', inputSchema: { type: 'object' } }] as JsonObject[], watchers };
  const connect = connectFunction(async () => ({
    tools: async () => state.tools,
    call: run,
    watch(onChange) {
      watchers.add(onChange);
      return () => void watchers.delete(onChange);
    },
  }));
  const change = (tools: JsonObject[]) => {
    state.tools = tools;
    for (const tell of watchers) tell();
  };
  return { connect, change, watchers };
}

verifies('W4', 'passes a call to a function unchanged, with its caller', async () => {
  const calls: ResolvedCall[] = [];
  const { connect } = functionServer(async (call) => {
    calls.push(call);
    return done({ content: [] });
  });
  const connection = await connect({ ...base, onNotification() {} });
  const call = toolCall('one', { a: 1 });
  expect(await connection.send(call)).toEqual(done({ content: [] }));
  expect(calls[0]).toMatchObject({ input: { a: 1 }, caller: call.caller, target: call.target });
});

verifies('W4', 'lists the tools of a function again after each change', async () => {
  const { connect, change } = functionServer();
  const { server, lists, time } = serverOf(tinyServer(), { connect });
  await server.connect(signal);
  const toolLists = () => lists.flatMap(([kind, items]) => (kind === 'tools' ? [items.map(({ name }) => name)] : []));
  expect(toolLists()).toEqual([['one']]);
  change([{ name: 'two' }]);
  time.pass(300);
  await until('the new list', () => toolLists().length === 2);
  expect(toolLists()[1]).toEqual(['two']);
});

verifies('W4', 'ends the calls and the watch of a function when its connection closes', async () => {
  const aborted: unknown[] = [];
  const { connect, watchers } = functionServer(
    (call) =>
      new Promise((resolve) =>
        call.signal.addEventListener('abort', () => {
          aborted.push(call.id);
          resolve(done({}));
        }),
      ),
  );
  const connection = await connect({ ...base, onNotification() {} });
  const sent = connection.send(toolCall('one'));
  expect([connection.inFlight(), watchers.size]).toEqual([1, 1]);
  await connection.close();
  await sent;
  await connection.closed;
  expect([aborted, watchers.size]).toEqual([['call-1'], 0]);
});

verifies('W4', 'lets the calls of a function end before a drained connection closes', async () => {
  const { promise, resolve } = Promise.withResolvers<Result>();
  const { connect } = functionServer(() => promise);
  const connection = await connect({ ...base, onNotification() {} });
  const sent = connection.send(toolCall('one'));
  const drained = connection.drain();
  resolve(done({ ok: true }));
  await drained;
  expect([(await sent).kind, connection.inFlight()]).toEqual(['complete', 0]);
});
