import { afterEach, expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { parseClientCapabilities } from '../methods/client-capabilities.ts';
import { clientRequests } from './client-requests.ts';

const ROOTS = { method: 'roots/list' } as const;

function streaming() {
  const sent: JsonObject[] = [];
  const stream = { send: (message: JsonObject) => sent.push(message) > 0, keepAlive: () => sent.push({}) };
  return { sent, stream };
}

afterEach(() => vi.useRealTimers());

verifies('P3', 'answers find their questions in any order, and what nobody waits for is dropped', async () => {
  const questions = clientRequests();
  const { sent, stream } = streaming();
  const { signal } = new AbortController();
  const asking = [questions.send(ROOTS, stream, signal), questions.send(ROOTS, stream, signal)];
  const [one, two] = sent.map(({ id }) => id);
  expect(sent).toMatchObject([{ method: 'roots/list', params: {} }, { method: 'roots/list' }]);
  expect(one).not.toBe(two);
  for (const id of [7, 'heddle-9', undefined]) questions.settle({ id, result: { no: 1 } });
  questions.settle({ id: two, error: { code: -1, message: 'No.' } });
  questions.settle({ id: one, result: { roots: [] } });
  questions.settle({ id: one, result: { roots: ['late'] } });
  const [first, second] = await Promise.allSettled(asking);
  expect(first).toMatchObject({ value: { roots: [] } });
  expect(second).toMatchObject({ reason: { code: -1, message: 'No.' } });
});

verifies('P3', 'a question is withdrawn when its call is cancelled, and not asked after that', async () => {
  const questions = clientRequests();
  const { sent, stream } = streaming();
  const abort = new AbortController();
  const asking = questions.send(ROOTS, stream, abort.signal);
  abort.abort();
  await expect(asking).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(sent[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: sent[0]?.id } });
  await expect(questions.send(ROOTS, stream, abort.signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(sent).toHaveLength(2);
});

verifies(
  'P3',
  'a question that nobody answers is withdrawn in the end, and its stream kept alive until then',
  async () => {
    vi.useFakeTimers();
    const { sent, stream } = streaming();
    const asking = clientRequests(60_000).send(ROOTS, stream, new AbortController().signal);
    const failed = expect(asking).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    await vi.advanceTimersByTimeAsync(59_999);
    expect(sent.slice(1)).toEqual([{}, {}]);
    await vi.advanceTimersByTimeAsync(1);
    await failed;
    expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled' });
    expect(vi.getTimerCount()).toBe(0);
  },
);

verifies('P3', 'a client that has left cannot be asked', async () => {
  const stream = { send: () => false, keepAlive() {} };
  const asking = clientRequests().send(ROOTS, stream, new AbortController().signal);
  await expect(asking).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});

it.each([
  [{ elicitation: {} }, ['form']],
  [{ elicitation: { form: {} } }, ['form']],
  [{ elicitation: { url: {} } }, ['url']],
  [{ elicitation: { form: {}, url: {} }, roots: { listChanged: true } }, ['form', 'url', 'roots']],
  [{ sampling: {} }, ['sampling']],
  [{ sampling: { tools: {} } }, ['sampling', 'samplingTools']],
  [{ elicitation: true, sampling: null, roots: [] }, []],
  [{}, []],
  [undefined, []],
])('P3: %j lets its user be asked %j', (declared, expected) => {
  const capabilities = parseClientCapabilities(declared) ?? {};
  expect(Object.keys(capabilities).filter((key) => capabilities[key as keyof typeof capabilities])).toEqual(expected);
});
