import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Call, DecidedCall, ResolvedCall, Stage } from '../core/call.ts';
import { HeddleError, UpstreamError } from '../core/errors.ts';
import { aCall, answers, aTarget, text } from '../core/fixtures.ts';
import { decides, noApprovals, realStore } from './fixtures.ts';
import { type Pipeline, pipeline } from './pipeline.ts';
import { rates } from './rate-limit.ts';
import { stages } from './stages.ts';

const passThrough: Stage<DecidedCall> = (call, next) => next(call);
const reads = { cache: passThrough, coalesce: passThrough, followUpdates: passThrough };

async function governed(ends: Partial<Pick<Pipeline, 'resolve' | 'invoke'>> = {}, decide = decides()) {
  const store = await realStore();
  const unlimited = rates(() => ({ servers: new Map(), perCaller: undefined }));
  const order = stages({
    audit: store.audit,
    traces: store.traces,
    decide,
    rates: unlimited,
    reads,
    approvals: noApprovals,
  });
  const resolve = async (call: Call): Promise<ResolvedCall> => ({ ...call, target: aTarget() });
  return { store, dispatch: pipeline({ ...order, resolve, invoke: answers('hi'), ...ends }) };
}

verifies('G1', 'a call passes every stage and its result comes back unchanged', async () => {
  const { store, dispatch } = await governed();
  await expect(dispatch(aCall())).resolves.toEqual(text('hi'));
  await expect.poll(store.phases).toEqual(['intent', 'outcome']);
});

verifies('G11', 'audits a call to an unknown name', async () => {
  const unknown = new HeddleError('NAME_UNKNOWN', 'Nothing is named demo.ecoh.');
  const { store, dispatch } = await governed({ resolve: () => Promise.reject(unknown) });
  await expect(dispatch(aCall({ name: 'demo.ecoh' }))).rejects.toBe(unknown);
  await expect.poll(store.phases).toEqual(['outcome']);
  expect(await store.audit.search({ limit: 1 })).toMatchObject([
    { name: 'demo.ecoh', detail: { outcome: 'NAME_UNKNOWN' } },
  ]);
});

verifies('G1', 'no denied or invalid call reaches the server', async () => {
  let reached = 0;
  const invoke = async () => {
    reached++;
    return text('hi');
  };
  const strict = { definition: { name: 'echo', inputSchema: { type: 'object', required: ['x'] } } };
  const { dispatch: denied } = await governed({ invoke }, decides({ permissions: { deny: ['mcp__demo'] } }));
  const { dispatch: invalid } = await governed({
    invoke,
    resolve: async (call) => ({ ...call, target: aTarget(strict) }),
  });
  await expect(denied(aCall())).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  await expect(invalid(aCall())).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  expect(reached).toBe(0);
});

const THROWN = [
  new UpstreamError('UPSTREAM_FAILED', 'It broke.', { delivered: 'maybe' }),
  new HeddleError('OUTCOME_UNKNOWN', 'Who knows.'),
  new TypeError('x is not a function'),
  'not even an error',
];
for (const thrown of THROWN) {
  verifies('G1', `no stage swallows or changes an error from below: ${thrown}`, async () => {
    const { dispatch } = await governed({ invoke: () => Promise.reject(thrown) });
    await expect(dispatch(aCall())).rejects.toBe(thrown);
  });
}

verifies('G1', 'passes the signal, input and meta of the caller on unchanged', async () => {
  const seen: ResolvedCall[] = [];
  const { dispatch } = await governed({
    invoke: async (call) => {
      seen.push(call);
      return text('hi');
    },
  });
  const { target: _, decision: __, ...call } = aCall({ input: { a: [1] }, meta: { b: 2 } });
  await dispatch(call);
  expect(seen).toHaveLength(1);
  for (const key of ['signal', 'input', 'meta', 'caller'] as const) expect(seen[0]?.[key]).toBe(call[key]);
});
