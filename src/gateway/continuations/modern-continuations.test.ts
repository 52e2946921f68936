import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aCall } from '../../core/fixtures.ts';
import type { Heddle } from '../../heddle.ts';
import { openContinuations } from './continuations.ts';
import { modernContinuations } from './modern-continuations.ts';

const approve = { action: 'accept', content: { approve: true } };
const name = { action: 'accept', content: { name: 'Ann' } };
const call = aCall();

verifies('G7', 'passes the response to an approval form on only with the continuation of that approval', () => {
  const continuations = openContinuations({} as Heddle);
  const modern = modernContinuations(continuations, { refused: () => {} });
  const inputResponses = { 'heddle-approval': approve, name };
  const resumed = (requestState?: string) =>
    modern.resume(call, requestState === undefined ? { inputResponses } : { inputResponses, requestState });
  expect(resumed().inputResponses).toEqual({ name });
  const upstream = continuations.states.seal({ kind: 'upstream', server: 'demo', state: 's' }, call);
  expect(resumed(upstream).inputResponses).toEqual({ name });
  const waiting = continuations.states.seal({ kind: 'approval', id: 'ap_1' }, call);
  expect(resumed(waiting).inputResponses).toEqual(inputResponses);
});
