import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject, ResolvedCall, TaskContinuation } from '../../core/call.ts';
import { aCall } from '../../core/fixtures.ts';
import { openServerRequests } from '../elicitation/server-requests.ts';
import { suspendedCalls } from '../elicitation/suspended-calls.ts';
import { taskPoller } from './poll-task.ts';

const CAPABILITIES = { form: true, url: false, sampling: true, samplingTools: false, roots: false };
const FROM: TaskContinuation = { kind: 'task', server: 'demo', taskId: 't1', pollMs: 1000 };
const WORKING = { taskId: 't1', status: 'working', createdAt: '2026-01-01', lastUpdatedAt: '2026-01-01', ttlMs: null };

/** A poller whose server returns this task. Records the requests. */
function polling(task: JsonObject, sampling = { maxCalls: 1, windowMs: 600_000, maxTokens: 10 }) {
  const requests: [string, JsonObject][] = [];
  let now = task;
  const serverRequests = openServerRequests({
    suspendedCalls: suspendedCalls(),
    roots: () => ['/folder'],
    sampling: () => sampling,
  });
  const poller = taskPoller({
    server: 'demo',
    serverRequests,
    async request(method, params) {
      requests.push([method, params]);
      return method === 'tasks/get' ? { ...WORKING, ...now } : {};
    },
  });
  const poll = (more: Partial<ResolvedCall> = {}) =>
    poller.resume(aCall({ capabilities: CAPABILITIES, ...more }), FROM);
  const setTask = (other: JsonObject) => {
    now = other;
  };
  return { ...poller, poll, requests, setTask };
}

const inputRequired = (inputRequests: JsonObject) => ({ status: 'input_required', inputRequests });

it.each([
  [1, 100],
  [5000, 5000],
  [10 ** 9, 30_000],
  ['soon', 1000],
  [-5, 1000],
])('P3: polls after %s ms as after %s ms', (pollIntervalMs, pollMs) => {
  const { begin } = polling({});
  expect(begin({ ...WORKING, pollIntervalMs } as JsonObject)).toMatchObject({
    kind: 'working',
    continuation: { pollMs },
  });
});

verifies('P3', 'answers roots/list of a task with the configured roots', async () => {
  const { poll, requests } = polling(inputRequired({ where: { method: 'roots/list' } }));
  expect(await poll()).toMatchObject({ kind: 'working' });
  expect(requests[1]).toMatchObject([
    'tasks/update',
    { inputResponses: { where: { roots: [{ uri: 'file:///folder' }] } } },
  ]);
});

const messages = [{ role: 'user', content: { type: 'text', text: 'A poem' } }];
const poem = { method: 'sampling/createMessage', params: { messages, maxTokens: 99 } };
const ADMITTED = { kind: 'input-required', inputRequests: { poem: { params: { maxTokens: 10 } } } };
const REFUSED = { kind: 'complete', isError: true };

verifies('P3', 'counts a sampling request once, however many polls show it', async () => {
  const { poll } = polling(inputRequired({ poem }));
  for (let at = 0; at < 3; at++) expect(await poll()).toMatchObject(ADMITTED);
});

verifies('P3', 'counts the same sampling request under another key again', async () => {
  const { poll, setTask, requests } = polling(inputRequired({ poem }));
  expect(await poll()).toMatchObject(ADMITTED);
  setTask(inputRequired({ poem, another: poem }));
  expect(await poll()).toMatchObject(REFUSED);
  expect(requests.at(-1)?.[0]).toBe('tasks/cancel');
});

verifies('P3', 'counts another sampling request under the same key again', async () => {
  const { poll, setTask } = polling(inputRequired({ poem }));
  expect(await poll()).toMatchObject(ADMITTED);
  setTask(inputRequired({ poem: { ...poem, params: { messages: [], maxTokens: 1 } } }));
  expect(await poll()).toMatchObject(REFUSED);
});

verifies('P3', 'does not return an answered sampling request again', async () => {
  const { poll, setTask } = polling(inputRequired({ poem }));
  await poll();
  expect(await poll({ inputResponses: { poem: { role: 'assistant' } } })).toMatchObject({ kind: 'working' });
  expect(await poll()).toMatchObject({ kind: 'working' });
  setTask({ status: 'working' });
  await poll();
  setTask(inputRequired({ poem }));
  expect(await poll()).toMatchObject(REFUSED);
});

verifies('P3', 'cancels a task that elicits a secret, and returns the reason', async () => {
  const requestedSchema = { type: 'object', properties: { password: { type: 'string' } } };
  const { poll, requests } = polling(
    inputRequired({ it: { method: 'elicitation/create', params: { message: '?', requestedSchema } } }),
  );
  const result = await poll();
  expect(result).toMatchObject({ kind: 'complete', isError: true });
  expect(JSON.stringify(result)).toContain('asks for a secret');
  expect(requests.map(([method]) => method)).toEqual(['tasks/get', 'tasks/cancel']);
});

verifies('P3', 'cancels the task when the client fails to answer', async () => {
  const { poll, requests } = polling({});
  const inputResponses = { it: { failed: { code: -1, message: 'no window' } } };
  expect(JSON.stringify(await poll({ inputResponses }))).toContain('no window');
  expect(requests.map(([method]) => method)).toEqual(['tasks/cancel']);
});

verifies('P3', 'throws for a cancelled task, and for a completed one without a result', async () => {
  await expect(polling({ status: 'cancelled', statusMessage: 'Too hot' }).poll()).rejects.toMatchObject({
    code: 'UPSTREAM_REFUSED',
    message: expect.stringContaining('Too hot'),
    details: { task: { status: 'cancelled' } },
  });
  await expect(polling({ status: 'completed' }).poll()).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
});
