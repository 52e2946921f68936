import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject, ResolvedCall, TaskContinuation } from '../../core/call.ts';
import { aCall } from '../../core/fixtures.ts';
import { openServerRequests } from '../elicitation/server-requests.ts';
import { suspendedCalls } from '../elicitation/suspended-calls.ts';
import { taskPoller } from './poll-task.ts';

const CAN = { form: true, url: false, sampling: true, samplingTools: false, roots: false };
const FROM: TaskContinuation = { kind: 'task', server: 'demo', taskId: 't1', pollMs: 1000 };
const WORKING = { taskId: 't1', status: 'working', createdAt: '2026-01-01', lastUpdatedAt: '2026-01-01', ttlMs: null };

/** A follower whose server says this of its task; what it is asked is written down. */
function following(said: JsonObject, sampling = { maxCalls: 1, windowMs: 600_000, maxTokens: 10 }) {
  const asked: [string, JsonObject][] = [];
  let now = said;
  const questions = openServerRequests({
    suspendedCalls: suspendedCalls(),
    roots: () => ['/folder'],
    sampling: () => sampling,
  });
  const follower = taskPoller({
    server: 'demo',
    questions,
    async request(method, params) {
      asked.push([method, params]);
      return method === 'tasks/get' ? { ...WORKING, ...now } : {};
    },
  });
  const look = (more: Partial<ResolvedCall> = {}) => follower.follow(aCall({ capabilities: CAN, ...more }), FROM);
  const says = (other: JsonObject) => {
    now = other;
  };
  return { ...follower, look, asked, says };
}

const asks = (inputRequests: JsonObject) => ({ status: 'input_required', inputRequests });

it.each([
  [1, 100],
  [5000, 5000],
  [10 ** 9, 30_000],
  ['soon', 1000],
  [-5, 1000],
])('P3: a server that wants to be asked again after %s ms is after %s', (pollIntervalMs, pollMs) => {
  const { begun } = following({});
  expect(begun({ ...WORKING, pollIntervalMs } as JsonObject)).toMatchObject({ kind: 'working', next: { pollMs } });
});

verifies('P3', 'the configured roots are told to a task without asking anybody', async () => {
  const { look, asked } = following(asks({ where: { method: 'roots/list' } }));
  expect(await look()).toMatchObject({ kind: 'working' });
  expect(asked[1]).toMatchObject([
    'tasks/update',
    { inputResponses: { where: { roots: [{ uri: 'file:///folder' }] } } },
  ]);
});

const messages = [{ role: 'user', content: { type: 'text', text: 'A poem' } }];
const poem = { method: 'sampling/createMessage', params: { messages, maxTokens: 99 } };
const PUT = { kind: 'input-required', questions: { poem: { params: { maxTokens: 10 } } } };
const REFUSED = { kind: 'complete', isError: true };

verifies('P3', 'a task that wants a text is counted once, however often it is looked at', async () => {
  const { look } = following(asks({ poem }));
  for (let at = 0; at < 3; at++) expect(await look()).toMatchObject(PUT);
});

verifies('P3', 'a task that wants the same text under another name is counted again', async () => {
  const { look, says, asked } = following(asks({ poem }));
  expect(await look()).toMatchObject(PUT);
  says(asks({ poem, another: poem }));
  expect(await look()).toMatchObject(REFUSED);
  expect(asked.at(-1)?.[0]).toBe('tasks/cancel');
});

verifies('P3', 'a task that wants another text under the same name is counted again', async () => {
  const { look, says } = following(asks({ poem }));
  expect(await look()).toMatchObject(PUT);
  says(asks({ poem: { ...poem, params: { messages: [], maxTokens: 1 } } }));
  expect(await look()).toMatchObject(REFUSED);
});

verifies('P3', 'a text that a task still wants after it was given is not written again', async () => {
  const { look, says } = following(asks({ poem }));
  await look();
  expect(await look({ inputResponses: { poem: { role: 'assistant' } } })).toMatchObject({ kind: 'working' });
  expect(await look()).toMatchObject({ kind: 'working' });
  says({ status: 'working' });
  await look();
  says(asks({ poem }));
  expect(await look()).toMatchObject(REFUSED);
});

verifies('P3', 'a task that asks for a secret is told to stop, and the call says why', async () => {
  const requestedSchema = { type: 'object', properties: { password: { type: 'string' } } };
  const { look, asked } = following(
    asks({ it: { method: 'elicitation/create', params: { message: '?', requestedSchema } } }),
  );
  const result = await look();
  expect(result).toMatchObject({ kind: 'complete', isError: true });
  expect(JSON.stringify(result)).toContain('asks for a secret');
  expect(asked.map(([method]) => method)).toEqual(['tasks/get', 'tasks/cancel']);
});

verifies('P3', 'a user who could not be asked ends the task', async () => {
  const { look, asked } = following({});
  const answers = { it: { failed: { code: -1, message: 'no window' } } };
  expect(JSON.stringify(await look({ inputResponses: answers }))).toContain('no window');
  expect(asked.map(([method]) => method)).toEqual(['tasks/cancel']);
});

verifies('P3', 'a task that stopped by itself, or was done without a result, has no result', async () => {
  await expect(following({ status: 'cancelled', statusMessage: 'Too hot' }).look()).rejects.toMatchObject({
    code: 'UPSTREAM_REFUSED',
    message: expect.stringContaining('Too hot'),
    details: { task: { status: 'cancelled' } },
  });
  await expect(following({ status: 'completed' }).look()).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
});
