import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { runSessions } from './run-sessions.ts';

const CAPABILITIES = { form: true, url: false, sampling: false, samplingTools: false, roots: false };

verifies('W6', 'the caller of a run is forgotten at its end, also if it never asks for the result', async () => {
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const ended = (run: string) => {
    const end = Promise.withResolvers<void>();
    ends.set(run, end);
    return end.promise;
  };
  const sessions = runSessions({ onChange: () => {}, ended });
  sessions.attend('run_1', CAPABILITIES);
  sessions.follow('run_2', CAPABILITIES, async () => ({}));
  const known = () => ['run_1', 'run_2'].filter((run) => sessions.inputOf(run));
  expect(known()).toEqual(['run_1', 'run_2']);
  ends.get('run_1')?.resolve();
  ends.get('run_2')?.reject(new Error('Heddle closes.'));
  await Promise.allSettled([...ends.values()].map(({ promise }) => promise));
  expect(known()).toEqual([]);
});
