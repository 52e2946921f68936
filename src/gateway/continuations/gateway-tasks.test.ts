import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type Behaviour, recordingServer, text } from '../../../test/servers/recording-server.ts';
import { KNOWS, taskClient } from '../../../test/servers/task-client.ts';
import { until } from '../../../test/until.ts';
import type { Call, JsonObject, Result } from '../../core/call.ts';
import { aCall, ada, text as done } from '../../core/fixtures.ts';
import type { Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import type { InProcessServer } from '../../upstream/lifecycle/programmatic-servers.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { Peer } from '../../wire/peer.ts';
import { gatewayUnderTest } from '../fixtures.ts';
import type { GatewayTask } from './gateway-task.ts';
import { type GatewayTasksOptions, gatewayTasks } from './gateway-tasks.ts';

/** A tool that is done when the test says so. */
function waitingTool() {
  const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
  let running = 0;
  const wait: Behaviour = (_input, { progress, signal }) => {
    running++;
    progress({ progress: running, message: 'half way' });
    return new Promise((done, fail) => {
      promise.then(done, fail);
      signal.addEventListener('abort', () => fail(new Error('cancelled')));
    });
  };
  return { wait, finish: resolve, fail: reject, isRunning: () => running > 0 };
}

async function opened(held: GatewayTasksOptions = {}) {
  const tool = waitingTool();
  const server = recordingServer({ wait: tool.wait, echo: () => text('quick'), fails: () => text('x') });
  const gateway = await gatewayUnderTest({
    servers: { demo: server },
    gateway: { gatewayTasks: { afterMs: 0, ...held } },
  });
  return { ...tool, server, gateway, ...taskClient(gateway) };
}

/** An alarm that rings only when it is told to. */
function handAlarm() {
  const waiting = new Map<() => void, number>();
  const alarm: Timer = (delayMs, ring) => {
    waiting.set(ring, delayMs);
    return () => waiting.delete(ring);
  };
  const ring = (delayMs: number) => {
    for (const [one, at] of waiting) if (at === delayMs) one();
  };
  return { alarm, ring, has: (delayMs: number) => [...waiting.values()].includes(delayMs) };
}

describe('a call that takes long', () => {
  verifies('P3', 'becomes a task, whatever its server knows, and its result waits', async () => {
    const { call, get, finish, stands } = await opened();
    const { result } = await call('wait');
    expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 3_600_000, pollIntervalMs: 1000 });
    expect(result).not.toHaveProperty('inputRequests');
    await until('it says how far it is', async () => (await get(result.taskId)).statusMessage === 'half way');
    finish(text('late'));
    const done = await stands(result.taskId, 'completed');
    expect(done).toMatchObject({ resultType: 'complete', taskId: result.taskId, result: text('late') });
    expect(await get(result.taskId)).toEqual(done);
  });

  verifies('P3', 'is waited for when it does not, and when its client knows no tasks', async () => {
    const { alarm, ring, has } = handAlarm();
    const { call, gateway, finish, isRunning } = await opened({ afterMs: 77, timer: alarm });
    expect((await call('echo')).result).toMatchObject(text('quick'));
    expect(has(77)).toBe(false);
    const plain = taskClient(gateway, {}).call('wait');
    await until('it runs', isRunning);
    ring(77);
    finish(text('late'));
    expect((await plain).result).toMatchObject(text('late'));
  });

  verifies('P3', 'is cancelled at its server when its client says so', async () => {
    const { call, ask, get, server, isRunning } = await opened();
    const taskId = String((await call('wait')).result.taskId);
    await until('it runs', isRunning);
    expect((await ask('tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete' });
    expect(await get(taskId)).toMatchObject({ status: 'cancelled' });
    await until('the server knows', () => server.cancelled.includes('wait'));
  });

  verifies('P3', 'is nobody else’s, and not that of another gateway', async () => {
    const { call, gateway } = await opened();
    const { taskId = '' } = (await call('wait')).result;
    const by = { id: 'root', roles: ['owner'], via: 'cli' } as const;
    const token = await gateway.heddle.access.createKey(by, { name: 'eve', roles: ['user'] });
    const eve = taskClient(gateway, KNOWS, { authorization: `Bearer ${token}` });
    expect((await eve.ask('tasks/get', { taskId })).error).toMatchObject({ code: -32602 });
  });

  verifies('P3', 'is gone with the gateway that held it, and another says so', async () => {
    const stateSecrets = [Buffer.alloc(32, 1)];
    const { wait } = waitingTool();
    const server = recordingServer({ wait });
    const setting = { servers: { demo: server }, gateway: { stateSecrets, heldCalls: { afterMs: 0 } } };
    const gateway = await gatewayUnderTest(setting);
    const { taskId = '' } = (await taskClient(gateway).call('wait')).result;
    await until('it runs', () => server.calls.length === 1);
    await gateway.close();
    await until('the server knows', () => server.cancelled.includes('wait'));
    const { error } = await taskClient(await gatewayUnderTest(setting)).ask('tasks/get', { taskId });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('is gone') });
  });

  verifies('P3', 'is forgotten, and cancelled, when its time is over', async () => {
    const { alarm, ring } = handAlarm();
    const { call, ask, server, isRunning } = await opened({ timer: alarm, afterMs: 1, ttlMs: 500 });
    const calling = call('wait');
    await until('it runs', isRunning);
    ring(1);
    const { taskId = '' } = (await calling).result;
    ring(500);
    await until('the server knows', () => server.cancelled.includes('wait'));
    expect((await ask('tasks/get', { taskId })).error).toMatchObject({ code: -32602 });
  });

  verifies('P3', 'is waited for when too many are held already; an answer nobody fetched makes room', async () => {
    const { alarm, ring } = handAlarm();
    const { call, ask, finish, stands, get, server } = await opened({ maxPerPrincipal: 2, afterMs: 5, timer: alarm });
    /** Calls, and lets the time pass after which it may be held. */
    const late = async (count: number) => {
      const calling = call('wait');
      await until('it runs', () => server.calls.length === count);
      ring(5);
      return { calling };
    };
    const one = await (await late(1)).calling;
    const two = await (await late(2)).calling;
    const third = await late(3);
    const { taskId = '' } = one.result;
    await ask('tasks/cancel', { taskId });
    const fourth = await (await late(4)).calling;
    expect(fourth.result).toMatchObject({ resultType: 'task' });
    expect((await ask('tasks/get', { taskId })).error).toMatchObject({ code: -32602 });
    expect(await get(two.result.taskId)).toMatchObject({ status: 'working' });
    finish(text('late'));
    await stands(two.result.taskId, 'completed');
    expect((await third.calling).result).toMatchObject(text('late'));
  });

  verifies('P3', 'that fails says so as any call does', async () => {
    const { call, fail, stands } = await opened();
    const { taskId } = (await call('wait')).result;
    fail(new RpcError(-32050, 'Out of luck'));
    expect((await stands(taskId, 'failed')).error).toMatchObject({ code: -32050, message: 'Out of luck' });
  });
});

/** A server of the older era that asks two things at once, once it is told to. */
function askingLater(go: Promise<void>): InProcessServer {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
  return {
    async connect(line) {
      const peer: Peer = new Peer(line, {
        server: 'Heddle',
        async answer(method, params) {
          if (method === 'initialize') {
            return { protocolVersion: params.protocolVersion ?? '', capabilities: { tools: {} }, serverInfo: {} };
          }
          if (method === 'tools/list') return { tools: [{ name: 'asks', inputSchema: { type: 'object' } }] };
          if (method !== 'tools/call') return {};
          await go;
          const ask = (message: string) =>
            peer.request('elicitation/create', { message, requestedSchema }, { deadlineMs: 120_000 });
          return text(JSON.stringify(await Promise.all([ask('Left?'), ask('Right?')])));
        },
      });
      await peer.start();
    },
  };
}

verifies('P3', 'a call that asks while it is held asks through its id, and goes on when all is answered', async () => {
  const { promise: held, resolve: go } = Promise.withResolvers<void>();
  const gateway = await gatewayUnderTest({
    servers: { demo: askingLater(held) },
    gateway: { gatewayTasks: { afterMs: 0 } },
  });
  const { call, ask, stands, get } = taskClient(gateway);
  const taskId = String((await call('asks')).result.taskId);
  go();
  const asking = await stands(taskId, 'input_required');
  expect(asking.inputRequests).toMatchObject({ q1: { method: 'elicitation/create' }, q2: {} });
  const answer = (inputResponses: JsonObject) => ask('tasks/update', { taskId, inputResponses });
  expect((await answer({ q1: { action: 'maybe' } })).error).toMatchObject({ code: -32602 });
  const filled = { action: 'accept', content: { name: 'Ann' } };
  expect((await answer({ q1: filled, stray: filled })).result).toEqual({ resultType: 'complete' });
  expect(Object.keys((await get(taskId)).inputRequests as JsonObject)).toEqual(['q2']);
  await answer({ q2: filled });
  const { result } = await stands(taskId, 'completed');
  expect(result).toEqual(text(JSON.stringify([filled, filled])));
});

describe('held calls', () => {
  /** One call that never ends, held at once. */
  async function held() {
    const signals: AbortSignal[] = [];
    const dispatch = (call: Call) => {
      signals.push(call.signal);
      return new Promise<Result>((_, fail) =>
        call.signal.addEventListener('abort', () => fail(new Error('cancelled'))),
      );
    };
    const calls = gatewayTasks({ dispatch, catalog: {} as Heddle['catalog'] }, { afterMs: 0 });
    const request = new AbortController();
    const one = (await calls.run(aCall({ signal: request.signal }))) as GatewayTask;
    return { calls, one, request, isCancelled: () => signals[0]?.aborted };
  }

  verifies('P3', 'outlive the request they came in, but not the gateway', async () => {
    const { calls, one, request, isCancelled } = await held();
    request.abort();
    expect(isCancelled()).toBe(false);
    expect(calls.find(one.ticket, aCall())).toBe(one);
    calls.close();
    expect([isCancelled(), one.describe().status]).toEqual([true, 'cancelled']);
    expect(calls.find(one.ticket, aCall())).toBeUndefined();
  });

  verifies('P3', 'are found by their own caller only', async () => {
    const { calls, one } = await held();
    expect(calls.find(one.ticket, { caller: { ...ada, id: 'eve' } })).toBeUndefined();
    expect(calls.find(one.ticket, { caller: { ...ada, profile: 'other' } })).toBeUndefined();
    expect(calls.find(one.ticket, { caller: ada })).toBe(one);
    calls.close();
  });

  verifies(
    'P3',
    'keep answers as long as they take little room; then the oldest go, first those of the same caller',
    async () => {
      const open = new Map<string, (result: Result) => void>();
      const dispatch = ({ name }: Call) => new Promise<Result>((resolve) => open.set(name, resolve));
      const limits = { afterMs: 0, maxBytesPerPrincipal: 2500, maxBytes: 4000 };
      const calls = gatewayTasks({ dispatch, catalog: {} as Heddle['catalog'] }, limits);
      const all = new Map<string, { readonly one: GatewayTask; readonly isKept: () => boolean }>();
      const hold = async (name: string, id: string) => {
        const call = aCall({ name, caller: { ...ada, id } });
        const one = (await calls.run(call)) as GatewayTask;
        all.set(name, { one, isKept: () => calls.find(one.ticket, call) === one });
      };
      const end = async (name: string, chars: number) => {
        open.get(name)?.(done('x'.repeat(chars)));
        await until('it is over', () => all.get(name)?.one.isOver === true);
      };
      const kept = () => [...all].flatMap(([name, { isKept }]) => (isKept() ? [name] : []));
      for (const name of ['a1', 'a2', 'a3', 'running']) await hold(name, 'ada');
      for (const name of ['e1', 'e2']) await hold(name, 'eve');
      for (const name of ['a1', 'e1', 'a2', 'a3']) await end(name, 1000);
      expect(kept()).toEqual(['a2', 'a3', 'running', 'e1', 'e2']);
      await end('e2', 3000);
      expect(kept()).toEqual(['running', 'e2']);
      calls.close();
    },
  );

  verifies('P3', 'end with the request as long as they are not held', async () => {
    const seen: AbortSignal[] = [];
    const dispatch = (call: Call) => {
      seen.push(call.signal);
      return new Promise<Result>((_, fail) => call.signal.addEventListener('abort', () => fail(new Error('left'))));
    };
    const calls = gatewayTasks({ dispatch, catalog: {} as Heddle['catalog'] }, { afterMs: 60_000 });
    const request = new AbortController();
    const left = calls.run(aCall({ signal: request.signal }));
    request.abort();
    await expect(left).rejects.toThrow('left');
    expect(seen[0]?.aborted).toBe(true);
  });
});
