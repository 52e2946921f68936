import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Facts } from '../../core/call/facts.ts';
import type { Caller, DecidedCall } from '../../core/call.ts';
import { aCall, ada, aTarget, text } from '../../core/fixtures.ts';
import { openTaints } from './taints.ts';

const session: Caller = { ...ada, session: 's1' };
const plain: Partial<Facts> = { openWorld: false };
const secret: Partial<Facts> = { openWorld: false, taints: ['private'] };

const calls = (caller: Caller, facts: Partial<Facts> = {}): DecidedCall =>
  aCall({ caller, target: aTarget({ facts }) });
const answers = async () => text('done');

function tracked(more: { maxKeys?: number; clock?: () => number; trusted?: readonly string[] } = {}) {
  const { trusted = [], ...options } = more;
  return openTaints({ isTracked: () => true, trusted: () => new Set(trusted), ...options });
}

verifies('G3', 'labels a session with the configured labels, and with untrusted for open-world tools', async () => {
  const taints = tracked();
  await taints.run(calls(session, plain), answers);
  expect(taints.labelsOf(session)).toEqual([]);
  await taints.run(calls(session, secret), answers);
  expect(taints.labelsOf(session)).toEqual(['private']);
  await taints.run(calls(session), answers);
  expect(taints.labelsOf(session)).toEqual(['private', 'untrusted']);
  expect(taints.labelsOf({ ...session, session: 's2' })).toEqual([]);
  expect(taints.labelsOf({ ...session, id: 'bob' })).toEqual([]);
});

verifies('G3', 'does not label results of trusted servers and built-in tools as untrusted', async () => {
  const taints = tracked({ trusted: ['demo'] });
  await taints.run(calls(session), answers);
  await taints.run(calls(session, { builtin: true }), answers);
  expect(taints.labelsOf(session)).toEqual([]);
  const pool = aTarget({ servers: ['demo', 'other'] });
  await taints.run(aCall({ caller: session, target: pool }), answers);
  expect(taints.labelsOf(session)).toEqual(['untrusted']);
});

verifies('G3', 'labels the session before progress or the result leaves, and if the call fails', async () => {
  const taints = tracked();
  let during: readonly string[] = [];
  const failing = async () => {
    during = taints.labelsOf(session);
    throw new Error('failed');
  };
  await expect(taints.run(calls(session), failing)).rejects.toThrow('failed');
  expect(during).toEqual(['untrusted']);
  expect(taints.labelsOf(session)).toEqual(['untrusted']);
});

verifies('G3', 'keeps the labels of a principal without sessions for 30 minutes after the result', async () => {
  let now = 0;
  const taints = tracked({ clock: () => now });
  await taints.run(calls(ada), async () => {
    now = 10 * 60_000;
    return text('done');
  });
  now = 40 * 60_000;
  expect(taints.labelsOf(ada)).toEqual(['untrusted']);
  now += 1;
  expect(taints.labelsOf(ada)).toEqual([]);
  await taints.run(calls(session), answers);
  now += 24 * 3_600_000;
  expect(taints.labelsOf(session)).toEqual(['untrusted']);
});

verifies('G3', 'counts a session whose labels were evicted as labelled with everything', async () => {
  const taints = tracked({ maxKeys: 2 });
  for (const name of ['a', 'b', 'c']) await taints.run(calls({ ...ada, session: name }, secret), answers);
  expect(taints.labelsOf({ ...ada, session: 'a' })).toEqual(['private', 'untrusted']);
  expect(taints.labelsOf({ ...ada, session: 'b' })).toEqual(['private']);
  expect(taints.labelsOf({ ...ada, session: 'new' })).toEqual([]);
  await taints.run(calls({ ...ada, session: 'a' }, secret), answers);
  expect(taints.labelsOf({ ...ada, session: 'a' })).toEqual(['private', 'untrusted']);
});
