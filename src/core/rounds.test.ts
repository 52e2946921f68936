import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Call, Result, Target } from './call.ts';
import { aCall, aTarget, text } from './fixtures.ts';
import { throughRounds } from './rounds.ts';

const asks = (count: number): Result => ({
  kind: 'input-required',
  questions: Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}`, { method: 'roots/list' }])),
  next: { kind: 'upstream', server: 'demo', state: 's' },
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

verifies('T10', 'each answer goes on where the call stopped, until it is complete', async () => {
  const { dispatch, seen } = rounds(asks(1), asks(2), text('done'));
  const ask = async (questions: object) => Object.fromEntries(Object.keys(questions).map((key) => [key, { key }]));
  const call = aCall();
  expect(await throughRounds(dispatch, call, { ask, describe })).toEqual(text('done'));
  expect(seen.map(({ id, from, answers }) => [id, from?.kind, answers])).toEqual([
    [call.id, undefined, undefined],
    [call.id, 'upstream', { q0: { key: 'q0' } }],
    [call.id, 'upstream', { q0: { key: 'q0' }, q1: { key: 'q1' } }],
  ]);
});

verifies('T10', 'a server that only wants patience is asked again after a while, and the user not at all', async () => {
  const { dispatch, seen } = rounds(asks(0), text('done'));
  const waits: number[] = [];
  const pause = async (ms: number) => void waits.push(ms);
  const ask = () => Promise.reject(new Error('nobody is to be asked'));
  await throughRounds(dispatch, aCall(), { ask, pause, describe });
  expect([waits, seen[1]?.answers]).toEqual([[250], undefined]);
});

verifies('T10', 'whoever leaves early leaves nothing waiting', async () => {
  const { dispatch, seen } = rounds(asks(1));
  const error = new Error('not now');
  await expect(throughRounds(dispatch, aCall(), { ask: () => Promise.reject(error), describe })).rejects.toBe(error);
  expect(seen[0]?.signal.aborted).toBe(true);

  const endless = rounds(asks(1));
  const tired = throughRounds(endless.dispatch, aCall(), { ask: async () => ({}), describe });
  await expect(tired).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
  expect([endless.seen.length, endless.seen[0]?.signal.aborted]).toEqual([8, true]);
});

verifies(
  'T10',
  'a call that may have written something is not said to have failed when it asks too often',
  async () => {
    const endless = (target: () => Promise<Target>) =>
      throughRounds(rounds(asks(1)).dispatch, aCall(), { ask: async () => ({}), describe: target });
    const details = { server: 'demo', because: 'UPSTREAM_FAILED' };
    await expect(endless(async () => aTarget())).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', details });
    await expect(endless(() => Promise.reject(new Error('gone')))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const harmless = async () => aTarget({ facts: { idempotent: true } });
    await expect(endless(harmless)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
  },
);
