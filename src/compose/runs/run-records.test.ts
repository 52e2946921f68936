import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import { toRun } from './run-records.ts';

verifies('W6', 'shows no field of a stored run that is not one of a run', () => {
  const run = { id: 'r1', workflow: 'greet', status: 'waiting', startedAt: 1, parent: { run: 'r0', path: 'sub' } };
  const stored = { ...run, input: 'sha', signalSeen: 3, callId: 'c', fieldOfALaterVersion: 'secret' };
  expect(toRun(stored as unknown as StoredRun)).toEqual(run);
});
