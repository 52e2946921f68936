import { afterEach, expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { parseClientCapabilities } from '../methods/client-capabilities.ts';
import { clientRequests } from './client-requests.ts';

const ROOTS = { method: 'roots/list' } as const;

function recordingStream() {
  const sent: JsonObject[] = [];
  const stream = { send: (message: JsonObject) => sent.push(message) > 0, keepAlive: () => sent.push({}) };
  return { sent, stream };
}

afterEach(() => vi.useRealTimers());

verifies('P3', 'matches responses to requests in any order, and ignores unknown ids', async () => {
  const requests = clientRequests();
  const { sent, stream } = recordingStream();
  const { signal } = new AbortController();
  const pending = [requests.send(ROOTS, stream, signal), requests.send(ROOTS, stream, signal)];
  const [one, two] = sent.map(({ id }) => id);
  expect(sent).toMatchObject([{ method: 'roots/list', params: {} }, { method: 'roots/list' }]);
  expect(one).not.toBe(two);
  for (const id of [7, 'heddle-9', undefined]) requests.settle({ id, result: { no: 1 } });
  requests.settle({ id: two, error: { code: -1, message: 'No.' } });
  requests.settle({ id: one, result: { roots: [] } });
  requests.settle({ id: one, result: { roots: ['late'] } });
  const [first, second] = await Promise.allSettled(pending);
  expect(first).toMatchObject({ value: { roots: [] } });
  expect(second).toMatchObject({ reason: { code: -1, message: 'No.' } });
});

verifies('P3', 'sends notifications/cancelled when the call is cancelled, and no request afterwards', async () => {
  const requests = clientRequests();
  const { sent, stream } = recordingStream();
  const abort = new AbortController();
  const pending = requests.send(ROOTS, stream, abort.signal);
  abort.abort();
  await expect(pending).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(sent[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: sent[0]?.id } });
  await expect(requests.send(ROOTS, stream, abort.signal)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(sent).toHaveLength(2);
});

verifies(
  'P3',
  'cancels a request without a response after its TTL, and keeps the stream alive until then',
  async () => {
    vi.useFakeTimers();
    const { sent, stream } = recordingStream();
    const pending = clientRequests(60_000).send(ROOTS, stream, new AbortController().signal);
    const failed = expect(pending).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    await vi.advanceTimersByTimeAsync(59_999);
    expect(sent.slice(1)).toEqual([{}, {}]);
    await vi.advanceTimersByTimeAsync(1);
    await failed;
    expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled' });
    expect(vi.getTimerCount()).toBe(0);
  },
);

verifies('P3', 'throws CALL_CANCELLED if the client has disconnected', async () => {
  const stream = { send: () => false, keepAlive() {} };
  const pending = clientRequests().send(ROOTS, stream, new AbortController().signal);
  await expect(pending).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});

it.each([
  [{ elicitation: {} }, ['form']],
  [{ elicitation: { form: {} } }, ['form']],
  [{ elicitation: { url: {} } }, ['url']],
  [{ elicitation: { form: {}, url: {} }, roots: {} }, ['form', 'url', 'roots']],
  [{ roots: { listChanged: true } }, ['roots', 'rootsListChanged']],
  [{ roots: { listChanged: 'yes' } }, ['roots']],
  [{ sampling: {} }, ['sampling']],
  [{ sampling: { tools: {} } }, ['sampling', 'samplingTools']],
  [{ elicitation: true, sampling: null, roots: [] }, []],
  [{}, []],
  [undefined, []],
])('P3: parses the capabilities %j as %j', (declared, expected) => {
  const capabilities = parseClientCapabilities(declared) ?? {};
  expect(Object.keys(capabilities).filter((key) => capabilities[key as keyof typeof capabilities])).toEqual(expected);
});
