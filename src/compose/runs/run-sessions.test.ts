import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError } from '../../core/errors.ts';
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
  ends.get('run_2')?.reject(new HeddleError('CALL_CANCELLED', 'Heddle closes.'));
  await Promise.allSettled([...ends.values()].map(({ promise }) => promise));
  expect(known()).toEqual([]);
});

verifies('W6', 'a caller that handles no input requests answers none of a run, whatever extensions it declares', () => {
  const sessions = runSessions({ onChange: () => {}, ended: () => new Promise(() => {}) });
  sessions.attend('run_1', { ...CAPABILITIES, form: false, extensions: { 'com.example/maps': {} } });
  expect(sessions.inputOf('run_1')).toBeUndefined();
});

verifies('W6', 'the caller of a run is kept while the store cannot be read', async () => {
  const ends: PromiseWithResolvers<void>[] = [];
  const retries: (() => void)[] = [];
  const ended = () => {
    ends.push(Promise.withResolvers<void>());
    return ends.at(-1)?.promise ?? Promise.resolve();
  };
  const timer = (_delay: number, retry: () => void) => {
    retries.push(retry);
    return () => {};
  };
  const sessions = runSessions({ onChange: () => {}, ended, timer });
  sessions.attend('run_1', CAPABILITIES);
  ends[0]?.reject(new HeddleError('STORE_UNAVAILABLE', 'The database restarts.'));
  await Promise.allSettled([ends[0]?.promise]);
  expect(sessions.inputOf('run_1')).toBeDefined();
  for (const retry of retries) retry();
  ends[1]?.resolve();
  await Promise.allSettled([ends[1]?.promise]);
  expect(sessions.inputOf('run_1')).toBeUndefined();
});
