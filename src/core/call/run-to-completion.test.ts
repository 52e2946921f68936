import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Call, JsonObject, Result, Target, TaskContinuation } from '../call.ts';
import { UpstreamError } from '../errors.ts';
import { aCall, aTarget, text } from '../fixtures.ts';
import { runToCompletion } from './run-to-completion.ts';

const asks = (count: number): Result => ({
  kind: 'input-required',
  inputRequests: Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}`, { method: 'roots/list' }])),
  continuation: { kind: 'upstream', server: 'demo', state: 's' },
});

const describe = async () => aTarget({ facts: { readOnly: true } });

/** Answers each round with the next result, and keeps the rounds. */
function rounds(...results: readonly Result[]) {
  const seen: Call[] = [];
  const dispatch = async (call: Call) => {
    seen.push(call);
    return results[seen.length - 1] ?? (results.at(-1) as Result);
  };
  return { dispatch, seen };
}

verifies('T10', 'dispatches the responses with the continuation until the call is complete', async () => {
  const { dispatch, seen } = rounds(asks(1), asks(2), text('done'));
  const ask = async (questions: object) => Object.fromEntries(Object.keys(questions).map((key) => [key, { key }]));
  const call = aCall();
  expect(await runToCompletion(dispatch, call, { ask, describe })).toEqual(text('done'));
  expect(seen.map(({ id, continuation, inputResponses }) => [id, continuation?.kind, inputResponses])).toEqual([
    [call.id, undefined, undefined],
    [call.id, 'upstream', { q0: { key: 'q0' } }],
    [call.id, 'upstream', { q0: { key: 'q0' }, q1: { key: 'q1' } }],
  ]);
});

verifies('T10', 'polls a server that has no input requests yet, without asking the user', async () => {
  const { dispatch, seen } = rounds(asks(0), text('done'));
  const waits: number[] = [];
  const pause = async (ms: number) => void waits.push(ms);
  const ask = () => Promise.reject(new Error('noUser is to be asked'));
  await runToCompletion(dispatch, aCall(), { ask, pause, describe });
  expect([waits, seen[1]?.inputResponses]).toEqual([[250], undefined]);
});

verifies('W5', 'reports each continuation before it waits for a response or a task', async () => {
  const { dispatch } = rounds(asks(1), asks(0), text('done'));
  const steps: string[] = [];
  await runToCompletion(dispatch, aCall(), {
    describe,
    onContinuation: async ({ kind }) => void steps.push(kind),
    ask: async () => {
      steps.push('ask');
      return {};
    },
    pause: async () => void steps.push('pause'),
  });
  expect(steps).toEqual(['upstream', 'ask', 'upstream', 'pause']);
});

verifies('T10', 'goes on without responses when the server withdraws its input requests', async () => {
  const over = new AbortController();
  const withdrawn: Result = { ...(asks(1) as Extract<Result, { kind: 'input-required' }>), withdrawn: over.signal };
  const { dispatch, seen } = rounds(withdrawn, withdrawn, text('done'));
  const asked: AbortSignal[] = [];
  const ask = (_questions: object, _server: string, signal: AbortSignal) => {
    asked.push(signal);
    over.abort();
    return new Promise<never>(() => {});
  };
  const call = aCall();
  expect(await runToCompletion(dispatch, call, { ask, describe })).toEqual(text('done'));
  expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
  expect(
    seen.map(({ continuation, inputResponses, signal }) => [continuation?.kind, inputResponses, signal.aborted]),
  ).toEqual([
    [undefined, undefined, false],
    ['upstream', undefined, false],
    ['upstream', undefined, false],
  ]);
});

verifies('T10', 'aborts the suspended call when the call fails early', async () => {
  const { dispatch, seen } = rounds(asks(1));
  const error = new Error('not now');
  await expect(runToCompletion(dispatch, aCall(), { ask: () => Promise.reject(error), describe })).rejects.toBe(error);
  expect(seen[0]?.signal.aborted).toBe(true);

  const endless = rounds(asks(1));
  const tired = runToCompletion(endless.dispatch, aCall(), { ask: async () => ({}), describe });
  await expect(tired).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
  expect([endless.seen.length, endless.seen[0]?.signal.aborted]).toEqual([8, true]);
});

verifies('T10', 'ends a call that may have written with OUTCOME_UNKNOWN when it requests input too often', async () => {
  const endless = (target: () => Promise<Target>) =>
    runToCompletion(rounds(asks(1)).dispatch, aCall(), { ask: async () => ({}), describe: target });
  const details = { server: 'demo', because: 'UPSTREAM_FAILED' };
  await expect(endless(async () => aTarget())).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', details });
  await expect(endless(() => Promise.reject(new Error('gone')))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  const harmless = async () => aTarget({ facts: { idempotent: true } });
  await expect(endless(harmless)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
});

const task: TaskContinuation = { kind: 'task', server: 'demo', taskId: 't1', pollMs: 40 };
const working: Result = { kind: 'working', task: { status: 'working' }, continuation: task };
const lostConnection = () => new UpstreamError('UPSTREAM_FAILED', 'The line was lost.', { delivered: 'maybe' });
const noUser = () => Promise.reject(new Error('noUser is to be asked'));

/** Does in each round the next of these, and the last of them for ever. */
function steps(...all: readonly (Result | Error)[]) {
  const seen: Call[] = [];
  const dispatch = async (call: Call): Promise<Result> => {
    seen.push(call);
    if (call.continuation?.kind === 'task' && call.continuation.cancels) return text('stopped');
    const step = all[Math.min(seen.length, all.length) - 1] as Result | Error;
    if (step instanceof Error) throw step;
    return step;
  };
  const cancels = () => seen.filter(({ continuation }) => continuation?.kind === 'task' && continuation.cancels).length;
  return { dispatch, seen, cancels };
}

verifies('P3', 'polls a task any number of times without counting continuations', async () => {
  const waits: number[] = [];
  const pause = async (ms: number) => void waits.push(ms);
  const { dispatch, cancels } = steps(...Array.from({ length: 20 }, () => working), text('done'));
  expect(await runToCompletion(dispatch, aCall(), { ask: noUser, pause, describe })).toEqual(text('done'));
  expect([waits, cancels()]).toEqual([Array.from({ length: 20 }, () => 40), 0]);
});

verifies('P3', 'asks the user once for each input request of a task, even if the task lists it again', async () => {
  const asking: Result = { ...(asks(1) as object), continuation: task } as Result;
  const { dispatch, seen } = steps(working, asking, asking, asking, text('done'));
  let asked = 0;
  const ask = async () => ({ q0: { key: ++asked } });
  await runToCompletion(dispatch, aCall(), { ask, pause: async () => {}, describe });
  expect([asked, seen.map(({ inputResponses }) => inputResponses !== undefined)]).toEqual([
    1,
    [false, false, true, false, false],
  ]);
});

verifies('P3', 'retries a failed poll, but not for ever', async () => {
  const options = { ask: noUser, pause: async () => {}, describe: async () => aTarget() };
  const short = steps(working, lostConnection(), lostConnection(), working, lostConnection(), text('done'));
  expect(await runToCompletion(short.dispatch, aCall(), options)).toEqual(text('done'));
  const long = steps(working, lostConnection());
  await expect(runToCompletion(long.dispatch, aCall(), options)).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    details: { server: 'demo', because: 'UPSTREAM_FAILED' },
  });
  expect([long.seen.length, long.cancels()]).toEqual([6, 1]);
});

verifies('P3', 'does not cancel a failed task, and ends an unknown task with OUTCOME_UNKNOWN', async () => {
  const options = { ask: noUser, pause: async () => {}, describe: async () => aTarget() };
  const refusal = (details: JsonObject) =>
    new UpstreamError('UPSTREAM_REFUSED', 'No.', { delivered: 'maybe', details });
  const ended = steps(working, refusal({ task: { status: 'failed' } }));
  await expect(runToCompletion(ended.dispatch, aCall(), options)).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
  expect(ended.cancels()).toBe(0);
  for (const details of [{}, { rpc: { code: -32602, message: 'No such task' } }]) {
    const unknown = steps(working, refusal(details));
    await expect(runToCompletion(unknown.dispatch, aCall(), options)).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringContaining('no longer knows the task'),
    });
    expect(unknown.cancels()).toBe(0);
  }
});

verifies('P3', 'cancels a task whose server refuses a response or a poll, and throws the server’s error', async () => {
  const asking: Result = { ...(asks(1) as object), continuation: task } as Result;
  const options = { ask: async () => ({ q0: {} }), pause: async () => {}, describe: async () => aTarget() };
  const refusal = (code: number) =>
    new UpstreamError('UPSTREAM_REFUSED', 'No.', { delivered: 'maybe', details: { rpc: { code, message: 'No.' } } });
  for (const wrong of [steps(working, asking, refusal(-32602)), steps(working, refusal(-32603))]) {
    await expect(runToCompletion(wrong.dispatch, aCall(), options)).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
    expect(wrong.cancels()).toBe(1);
  }
});

verifies('P3', 'cancels a task after its timeout, which starts again with each response', async () => {
  let now = 0;
  const pause = async (ms: number) => {
    now += ms;
  };
  const asking: Result = { ...(asks(1) as object), continuation: task } as Result;
  const ask = async () => ({ q0: { key: ++now } });
  const options = { ask, pause, describe, clock: () => now };
  const endless = steps(working, working, asking, working);
  await expect(
    runToCompletion(endless.dispatch, aCall({ options: { timeoutMs: 100 } }), options),
  ).rejects.toMatchObject({
    code: 'UPSTREAM_TIMEOUT',
  });
  expect([endless.seen.length, endless.cancels()]).toEqual([7, 1]);
});
