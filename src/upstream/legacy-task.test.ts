import { afterEach, expect, onTestFinished, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import type { Continuation, JsonObject, ResolvedCall } from '../core/call.ts';
import { aTarget } from '../core/fixtures.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { openServerRequests } from './elicitation/server-requests.ts';
import { suspendedCalls } from './elicitation/suspended-calls.ts';
import { HELLO, never, type TinyAnswer, tinyServer, toolCall } from './fixtures.ts';
import { resumeSuspended } from './protocol/resume-suspended.ts';
import { connectInMemory } from './transports/connect-in-memory.ts';

const CAPABILITIES = { form: true, url: true, sampling: false, samplingTools: false, roots: false };
const TASKS = { requests: { tools: { call: {} } }, cancel: {} };
const RELATED = { 'io.modelcontextprotocol/related-task': { taskId: 't1' } };
const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
const DONE = { content: [{ type: 'text', text: 'done' }] };

const requireUrl = () => {
  const elicitations = [{ mode: 'url', elicitationId: 'e1', url: 'https://example.com/', message: 'Sign in.' }];
  throw new RpcError(-32042, 'Visit the URL first.', { elicitations });
};

const aTaskCall = (more: Partial<ResolvedCall> = {}) =>
  toolCall(
    'long',
    {},
    {
      target: aTarget({ name: 'long', definition: { name: 'long', execution: { taskSupport: 'required' } } }),
      capabilities: CAPABILITIES,
      ...more,
    },
  );

afterEach(() => vi.useRealTimers());

async function opened(answers: Readonly<Record<string, TinyAnswer>>, capabilities: JsonObject = { tasks: TASKS }) {
  const toolCalls: JsonObject[] = [];
  const suspended = suspendedCalls();
  const sampling = () => ({ maxCalls: 0, windowMs: 1, maxTokens: 0 });
  const serverRequests = openServerRequests({ suspendedCalls: suspended, roots: () => [], sampling });
  const server = tinyServer({
    initialize: () => ({ ...HELLO, protocolVersion: '2025-11-25', capabilities: { tools: {}, ...capabilities } }),
    'tools/call': (params) => {
      toolCalls.push(params);
      return params.task ? { task: { taskId: 't1', status: 'working' } } : DONE;
    },
    'tasks/result': () => ({ ...DONE, _meta: { ...RELATED, kept: 1 } }),
    'tasks/cancel': () => ({ taskId: 't1', status: 'cancelled' }),
    ...answers,
  });
  const connection = await connectInMemory(server.serve)({
    server: 'demo',
    signal: new AbortController().signal,
    known: 'legacy',
    capabilities: CAPABILITIES,
    onNotification() {},
    serverRequests,
  });
  onTestFinished(() => connection.close());
  return { server, connection, toolCalls, suspended };
}

verifies('P3', 'calls a tool that requires a task as a task, and fetches its result', async () => {
  const { connection, server, toolCalls } = await opened({});
  expect(await connection.send(aTaskCall())).toMatchObject({
    kind: 'complete',
    value: { ...DONE, _meta: { kept: 1 } },
  });
  expect(toolCalls).toMatchObject([{ name: 'long', task: { ttl: 600_000 } }]);
  expect(server.requests.slice(-2)).toEqual(['tools/call', 'tasks/result']);
});

verifies('P3', 'calls other tools, and all tools of a server without tasks, plainly', async () => {
  const { connection, toolCalls } = await opened({});
  await connection.send(toolCall('long', {}, { capabilities: CAPABILITIES }));
  const old = await opened({}, {});
  await old.connection.send(aTaskCall());
  expect([toolCalls, old.toolCalls].flat().map(({ task }) => task)).toEqual([undefined, undefined]);
});

verifies('P3', 'returns the result of a server that answers a task call at once', async () => {
  const { connection, server } = await opened({ 'tools/call': () => DONE });
  expect(await connection.send(aTaskCall())).toMatchObject({ kind: 'complete', value: DONE });
  expect(server.requests).not.toContain('tasks/result');
});

verifies('P3', 'attributes an input request to the call of its related task', async () => {
  const elicit = (taskId: string): Promise<JsonObject> => {
    const related = { 'io.modelcontextprotocol/related-task': { taskId } };
    return (server.transports[0] as (typeof server.transports)[number]).request(
      'elicitation/create',
      { ...FORM, message: taskId, _meta: related },
      { deadlineMs: 120_000 },
    );
  };
  let begun = 0;
  const { server, connection } = await opened({
    'tools/call': () => ({ task: { taskId: `t${++begun}` } }),
    'tasks/result': async ({ taskId }) => {
      if (taskId === 't1') await until('the other task has begun', () => begun === 2);
      return { content: [], response: await elicit(String(taskId)) };
    },
  });
  const results = await Promise.all([connection.send(aTaskCall()), connection.send(aTaskCall())]);
  expect(results).toMatchObject([
    {
      kind: 'input-required',
      inputRequests: { q1: { params: { message: 't1' } } },
      continuation: { kind: 'suspended' },
    },
    { kind: 'input-required', inputRequests: { q1: { params: { message: 't2' } } } },
  ]);
  expect(connection.sendsUnrelatedRequests()).toBe(false);
});

verifies('P3', 'cancels the task when its caller leaves', async () => {
  const { connection, server } = await opened({ 'tasks/result': never });
  const leave = new AbortController();
  const left = connection.send(aTaskCall({ signal: leave.signal })).catch(({ code }) => code);
  await until('tasks/result has arrived', () => server.requests.includes('tasks/result'));
  leave.abort();
  expect(await left).toBe('CALL_CANCELLED');
  await until('tasks/cancel has arrived', () => server.requests.includes('tasks/cancel'));
});

for (const [how, code] of [
  ['leaves', 'CALL_CANCELLED'],
  ['has no more time', 'UPSTREAM_TIMEOUT'],
] as const) {
  verifies('P3', `cancels the task when its id arrives after the caller ${how}`, async () => {
    const name = Promise.withResolvers<JsonObject>();
    const cancelled: JsonObject[] = [];
    const { connection, server } = await opened({
      'tools/call': () => name.promise,
      'tasks/cancel': (params) => {
        cancelled.push(params);
        return {};
      },
    });
    const leave = new AbortController();
    const options = code === 'UPSTREAM_TIMEOUT' ? { timeoutMs: 20 } : {};
    const left = connection.send(aTaskCall({ signal: leave.signal, options })).catch((thrown) => thrown.code);
    await until('tools/call has arrived', () => server.requests.includes('tools/call'));
    if (code === 'CALL_CANCELLED') leave.abort();
    expect(await left).toBe(code);
    const finished = connection.drain();
    name.resolve({ task: { taskId: 't1' } });
    await finished;
    expect(cancelled).toEqual([{ taskId: 't1' }]);
    expect(server.requests).not.toContain('tasks/result');
    // A server that got this would not send the task id.
    expect(server.notifications.map(([method]) => method)).not.toContain('notifications/cancelled');
  });
}

verifies('P3', 'rejects the continuation of a modern task without calling the tool again', async () => {
  const { connection, toolCalls } = await opened({});
  const continuation = { kind: 'task', server: 'demo', taskId: 'x', pollMs: 1 } as const;
  await expect(connection.send(toolCall('long', {}, { continuation }))).rejects.toMatchObject({
    code: 'UPSTREAM_REFUSED',
  });
  expect(toolCalls).toEqual([]);
});

verifies('P3', 'begins a task again after -32042 only when the user agreed and the page was visited', async () => {
  let wasVisited = false;
  const { connection, server, toolCalls } = await opened({ 'tasks/result': () => (wasVisited ? DONE : requireUrl()) });
  const required = await connection.send(aTaskCall());
  expect(required).toMatchObject({ kind: 'input-required', continuation: { kind: 'call-again', after: ['e1'] } });
  const continuation = { kind: 'call-again', server: 'demo', after: ['e1'] } as const;
  for (const inputResponses of [{ q1: { action: 'decline' } }, {}]) {
    expect(await connection.send(aTaskCall({ continuation, inputResponses }))).toMatchObject({
      kind: 'complete',
      isError: true,
    });
  }
  expect(toolCalls).toHaveLength(1);
  const again = connection.send(aTaskCall({ continuation, inputResponses: { q1: { action: 'accept' } } }));
  wasVisited = true;
  await server.transports[0]?.notify('notifications/elicitation/complete', { elicitationId: 'e1' });
  expect(await again).toMatchObject({ kind: 'complete', value: DONE });
  expect(toolCalls).toMatchObject([{ task: {} }, { task: {} }]);
});

verifies('P3', 'returns the URLs of a -32042 error that came before the task began', async () => {
  const { connection } = await opened({ 'tools/call': requireUrl });
  expect(await connection.send(aTaskCall())).toMatchObject({
    kind: 'input-required',
    inputRequests: { q1: { params: { mode: 'url', url: 'https://example.com/' } } },
    continuation: { kind: 'call-again', after: ['e1'] },
  });
  const withoutUrl = connection.send(aTaskCall({ capabilities: { ...CAPABILITIES, url: false } }));
  await expect(withoutUrl).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED', details: { rpc: { code: -32042 } } });
});

verifies('P3', 'drains a connection only after the task that is beginning on it is done', async () => {
  const name = Promise.withResolvers<JsonObject>();
  const result = Promise.withResolvers<JsonObject>();
  const { connection, server } = await opened({
    'tools/call': () => name.promise,
    'tasks/result': () => result.promise,
  });
  const sending = connection.send(aTaskCall());
  expect(connection.inFlight()).toBe(1);
  const finishing = connection.drain();
  await until('tools/call has arrived', () => server.requests.includes('tools/call'));
  name.resolve({ task: { taskId: 't1' } });
  await until('tasks/result has arrived', () => server.requests.includes('tasks/result'));
  expect(connection.inFlight()).toBe(1);
  result.resolve(DONE);
  expect(await sending).toMatchObject({ kind: 'complete', value: DONE });
  await finishing;
  expect(connection.inFlight()).toBe(0);
  await connection.closed;
});

verifies('T6', 'cancels a task after its timeout, or else after ten minutes', async () => {
  for (const [options, ms] of [
    [{ timeoutMs: 700_000 }, 700_000],
    [{ timeoutMs: 200 }, 200],
    [{}, 600_000],
  ] as const) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { connection, server, toolCalls } = await opened({ 'tasks/result': never });
    const sending = connection.send(aTaskCall({ options })).catch(({ code }) => code);
    await vi.waitFor(() => expect(server.requests).toContain('tasks/result'), { timeout: 60_000 });
    expect(toolCalls).toMatchObject([{ task: { ttl: Math.max(ms, 600_000) } }]);
    await vi.advanceTimersByTimeAsync(ms - 100);
    expect(connection.inFlight()).toBe(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(await sending).toBe('UPSTREAM_TIMEOUT');
    await vi.waitFor(() => expect(server.requests).toContain('tasks/cancel'), { timeout: 60_000 });
    vi.useRealTimers();
  }
});

verifies(
  'P3',
  'reports progress by the token of the call that began the task, also after an input request',
  async () => {
    const seen: JsonObject[] = [];
    const onProgress = (progress: JsonObject) => void seen.push(progress);
    const { connection, server, toolCalls, suspended } = await opened({
      async 'tasks/result'(params) {
        expect(params).toEqual({ taskId: 't1' });
        const { progressToken } = (toolCalls[0] as JsonObject)._meta as { progressToken: number };
        const [transport] = server.transports;
        await transport?.notify('notifications/progress', { progressToken, progress: 1 });
        await transport?.request('elicitation/create', { ...FORM, _meta: RELATED }, { deadlineMs: 120_000 });
        await transport?.notify('notifications/progress', { progressToken, progress: 2 });
        return DONE;
      },
    });
    const { continuation } = (await connection.send(aTaskCall({ onProgress }))) as {
      continuation: Continuation;
    };
    expect(seen).toMatchObject([{ progress: 1 }]);
    const later: JsonObject[] = [];
    const inputResponses = { q1: { action: 'accept', content: { name: 'Ada' } } };
    const call = aTaskCall({
      continuation,
      inputResponses,
      onProgress: (progress) => void later.push(progress),
    });
    expect(await resumeSuspended(suspended, call)).toMatchObject({ kind: 'complete', value: DONE });
    expect(later).toMatchObject([{ progress: 2 }]);
  },
);
