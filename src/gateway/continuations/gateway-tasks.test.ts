import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type Behaviour, recordingServer, text } from '../../../test/servers/recording-server.ts';
import { TASK_CAPABILITIES, taskClient } from '../../../test/servers/task-client.ts';
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

/** A tool that returns when the test calls `finish`. */
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

async function opened(options: GatewayTasksOptions = {}) {
  const tool = waitingTool();
  const server = recordingServer({ wait: tool.wait, echo: () => text('quick'), fails: () => text('x') });
  const gateway = await gatewayUnderTest({
    servers: { demo: server },
    gateway: { gatewayTasks: { afterMs: 0, ...options } },
  });
  return { ...tool, server, gateway, ...taskClient(gateway) };
}

/** The parts of a gateway with this `dispatch`, in which no call needs an approval. */
const partsWith = (dispatch: Heddle['dispatch']) => ({
  heddle: { dispatch, catalog: {} as Heddle['catalog'], approvals: {} as Heddle['approvals'] },
  waits: { withdrawable: (result: Result) => result },
});

/** A timer whose callbacks run only when the test calls `fire`. */
function manualTimer() {
  const waiting = new Map<() => void, number>();
  const timer: Timer = (delayMs, callback) => {
    waiting.set(callback, delayMs);
    return () => waiting.delete(callback);
  };
  const fire = (delayMs: number) => {
    for (const [callback, at] of waiting) if (at === delayMs) callback();
  };
  return { timer, fire, has: (delayMs: number) => [...waiting.values()].includes(delayMs) };
}

describe('a long call', () => {
  verifies('P3', 'becomes a gateway task, and its result is kept', async () => {
    const { call, get, finish, waitForStatus } = await opened();
    const { result } = await call('wait');
    expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 3_600_000, pollIntervalMs: 1000 });
    expect(result).not.toHaveProperty('inputRequests');
    await until('the task has a status message', async () => (await get(result.taskId)).statusMessage === 'half way');
    finish(text('late'));
    const done = await waitForStatus(result.taskId, 'completed');
    expect(done).toMatchObject({ resultType: 'complete', taskId: result.taskId, result: text('late') });
    expect(await get(result.taskId)).toEqual(done);
  });

  verifies('P3', 'is answered with its result if it is quick or the client has no tasks extension', async () => {
    const { timer, fire, has } = manualTimer();
    const { call, gateway, finish, isRunning } = await opened({ afterMs: 77, timer });
    expect((await call('echo')).result).toMatchObject(text('quick'));
    expect(has(77)).toBe(false);
    const plain = taskClient(gateway, {}).call('wait');
    await until('it runs', isRunning);
    fire(77);
    finish(text('late'));
    expect((await plain).result).toMatchObject(text('late'));
  });

  verifies('P3', 'is cancelled at its server by tasks/cancel', async () => {
    const { call, request, get, server, isRunning } = await opened();
    const taskId = String((await call('wait')).result.taskId);
    await until('it runs', isRunning);
    expect((await request('tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete' });
    expect(await get(taskId)).toMatchObject({ status: 'cancelled' });
    await until('the server is cancelled', () => server.cancelled.includes('wait'));
  });

  verifies('P3', 'is hidden from other principals', async () => {
    const { call, gateway } = await opened();
    const { taskId = '' } = (await call('wait')).result;
    const by = { id: 'root', roles: ['owner'], via: 'cli' } as const;
    const token = await gateway.heddle.access.createKey(by, { name: 'eve', roles: ['user'] });
    const eve = taskClient(gateway, TASK_CAPABILITIES, { authorization: `Bearer ${token}` });
    expect((await eve.request('tasks/get', { taskId })).error).toMatchObject({ code: -32602 });
  });

  verifies('P3', 'is cancelled with its gateway, and another gateway reports that it is gone', async () => {
    const stateSecrets = [Buffer.alloc(32, 1)];
    const { wait } = waitingTool();
    const server = recordingServer({ wait });
    const setting = { servers: { demo: server }, gateway: { stateSecrets, gatewayTasks: { afterMs: 0 } } };
    const gateway = await gatewayUnderTest(setting);
    const { taskId = '' } = (await taskClient(gateway).call('wait')).result;
    await until('it runs', () => server.calls.length === 1);
    await gateway.close();
    await until('the server is cancelled', () => server.cancelled.includes('wait'));
    const { error } = await taskClient(await gatewayUnderTest(setting)).request('tasks/get', { taskId });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('is gone') });
  });

  verifies('P3', 'is cancelled and removed when its TTL is over', async () => {
    const { timer, fire } = manualTimer();
    const { call, request, server, isRunning } = await opened({ timer, afterMs: 1, ttlMs: 500 });
    const calling = call('wait');
    await until('it runs', isRunning);
    fire(1);
    const { taskId = '' } = (await calling).result;
    fire(500);
    await until('the server is cancelled', () => server.cancelled.includes('wait'));
    expect((await request('tasks/get', { taskId })).error).toMatchObject({ code: -32602 });
  });

  verifies(
    'P3',
    'is answered with its result if the caller has too many tasks; an ended task is evicted first',
    async () => {
      const { timer, fire } = manualTimer();
      const { call, request, finish, waitForStatus, get, server } = await opened({
        maxPerPrincipal: 2,
        afterMs: 5,
        timer,
      });
      /** Calls, and fires the timer after which the call becomes a task. */
      const late = async (count: number) => {
        const calling = call('wait');
        await until('it runs', () => server.calls.length === count);
        fire(5);
        return { calling };
      };
      const one = await (await late(1)).calling;
      const two = await (await late(2)).calling;
      const third = await late(3);
      const { taskId = '' } = one.result;
      await request('tasks/cancel', { taskId });
      const fourth = await (await late(4)).calling;
      expect(fourth.result).toMatchObject({ resultType: 'task' });
      expect((await request('tasks/get', { taskId })).error).toMatchObject({ code: -32602 });
      expect(await get(two.result.taskId)).toMatchObject({ status: 'working' });
      finish(text('late'));
      await waitForStatus(two.result.taskId, 'completed');
      expect((await third.calling).result).toMatchObject(text('late'));
    },
  );

  verifies('P3', 'reports its failure as the error of the task', async () => {
    const { call, fail, waitForStatus } = await opened();
    const { taskId } = (await call('wait')).result;
    fail(new RpcError(-32050, 'Out of luck'));
    expect((await waitForStatus(taskId, 'failed')).error).toMatchObject({ code: -32050, message: 'Out of luck' });
  });
});

/** A legacy server that sends two elicitations at once, after `go`. */
function elicitingServer(go: Promise<void>): InProcessServer {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
  return {
    async connect(transport) {
      const peer: Peer = new Peer(transport, {
        server: 'Heddle',
        async answer(method, params) {
          if (method === 'initialize') {
            return { protocolVersion: params.protocolVersion ?? '', capabilities: { tools: {} }, serverInfo: {} };
          }
          if (method === 'tools/list') return { tools: [{ name: 'elicits', inputSchema: { type: 'object' } }] };
          if (method !== 'tools/call') return {};
          await go;
          const elicit = (message: string) =>
            peer.request('elicitation/create', { message, requestedSchema }, { deadlineMs: 120_000 });
          return text(JSON.stringify(await Promise.all([elicit('Left?'), elicit('Right?')])));
        },
      });
      await peer.start();
    },
  };
}

verifies('P3', 'a gateway task shows its input requests and continues when all have a response', async () => {
  const { promise: started, resolve: go } = Promise.withResolvers<void>();
  const gateway = await gatewayUnderTest({
    servers: { demo: elicitingServer(started) },
    gateway: { gatewayTasks: { afterMs: 0 } },
  });
  const { call, request, waitForStatus, get } = taskClient(gateway);
  const taskId = String((await call('elicits')).result.taskId);
  go();
  const waiting = await waitForStatus(taskId, 'input_required');
  expect(waiting.inputRequests).toMatchObject({ q1: { method: 'elicitation/create' }, q2: {} });
  const respond = (inputResponses: JsonObject) => request('tasks/update', { taskId, inputResponses });
  expect((await respond({ q1: { action: 'maybe' } })).error).toMatchObject({ code: -32602 });
  const filled = { action: 'accept', content: { name: 'Ann' } };
  expect((await respond({ q1: filled, stray: filled })).result).toEqual({ resultType: 'complete' });
  expect(Object.keys((await get(taskId)).inputRequests as JsonObject)).toEqual(['q2']);
  await respond({ q2: filled });
  const { result } = await waitForStatus(taskId, 'completed');
  expect(result).toEqual(text(JSON.stringify([filled, filled])));
});

describe('gatewayTasks', () => {
  /** A call that never ends and is detached at once. */
  async function detached() {
    const signals: AbortSignal[] = [];
    const dispatch = (call: Call) => {
      signals.push(call.signal);
      return new Promise<Result>((_, fail) =>
        call.signal.addEventListener('abort', () => fail(new Error('cancelled'))),
      );
    };
    const tasks = gatewayTasks(partsWith(dispatch), { afterMs: 0 });
    const request = new AbortController();
    const one = (await tasks.run(aCall({ signal: request.signal }))) as GatewayTask;
    return { tasks, one, request, isCancelled: () => signals[0]?.aborted };
  }

  verifies('P3', 'keeps a task after its request has ended, until the gateway closes', async () => {
    const { tasks, one, request, isCancelled } = await detached();
    request.abort();
    expect(isCancelled()).toBe(false);
    expect(tasks.find(one.route.ticket, aCall())).toBe(one);
    tasks.close();
    expect([isCancelled(), one.describe().status]).toEqual([true, 'cancelled']);
    expect(tasks.find(one.route.ticket, aCall())).toBeUndefined();
  });

  verifies('P3', 'finds a task only for its own caller and profile', async () => {
    const { tasks, one } = await detached();
    expect(tasks.find(one.route.ticket, { caller: { ...ada, id: 'eve' } })).toBeUndefined();
    expect(tasks.find(one.route.ticket, { caller: { ...ada, profile: 'other' } })).toBeUndefined();
    expect(tasks.find(one.route.ticket, { caller: ada })).toBe(one);
    tasks.close();
  });

  verifies('P3', 'evicts the oldest results over the byte limit, first those of the same principal', async () => {
    const open = new Map<string, (result: Result) => void>();
    const dispatch = ({ name }: Call) => new Promise<Result>((resolve) => open.set(name, resolve));
    const limits = { afterMs: 0, maxBytesPerPrincipal: 2500, maxBytes: 4000 };
    const tasks = gatewayTasks(partsWith(dispatch), limits);
    const all = new Map<string, { readonly one: GatewayTask; readonly isKept: () => boolean }>();
    const detach = async (name: string, id: string) => {
      const call = aCall({ name, caller: { ...ada, id } });
      const one = (await tasks.run(call)) as GatewayTask;
      all.set(name, { one, isKept: () => tasks.find(one.route.ticket, call) === one });
    };
    const end = async (name: string, chars: number) => {
      open.get(name)?.(done('x'.repeat(chars)));
      await until('the task has ended', () => all.get(name)?.one.isEnded === true);
    };
    const kept = () => [...all].flatMap(([name, { isKept }]) => (isKept() ? [name] : []));
    for (const name of ['a1', 'a2', 'a3', 'running']) await detach(name, 'ada');
    for (const name of ['e1', 'e2']) await detach(name, 'eve');
    for (const name of ['a1', 'e1', 'a2', 'a3']) await end(name, 1000);
    expect(kept()).toEqual(['a2', 'a3', 'running', 'e1', 'e2']);
    await end('e2', 3000);
    expect(kept()).toEqual(['running', 'e2']);
    tasks.close();
  });

  verifies('P3', 'cancels a call with its request as long as it is no task', async () => {
    const seen: AbortSignal[] = [];
    const dispatch = (call: Call) => {
      seen.push(call.signal);
      return new Promise<Result>((_, fail) => call.signal.addEventListener('abort', () => fail(new Error('left'))));
    };
    const tasks = gatewayTasks(partsWith(dispatch), { afterMs: 60_000 });
    const request = new AbortController();
    const left = tasks.run(aCall({ signal: request.signal }));
    request.abort();
    await expect(left).rejects.toThrow('left');
    expect(seen[0]?.aborted).toBe(true);
  });
});
