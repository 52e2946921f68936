import type { Caller } from '../../core/call.ts';
import type { Run, RunEvent, RunResult, RunStatus } from '../../core/records/run.ts';
import type { FollowedRun } from './follow-run.ts';
import type { WholeRun } from './print-run.ts';

export const ANN: Caller = { id: 'local:ann', roles: ['owner'], via: 'cli' };

export const RUN: Run = {
  ...{ id: 'run_1', workflow: 'digest', digest: '3f2a'.repeat(16), interpreter: 1, status: 'running', depth: 0 },
  ...{ caller: { id: 'local:ann', roles: ['owner'], via: 'cli' }, startedAt: 1000 },
};

export const resultOf = (status: RunStatus, more: Partial<RunResult> = {}): RunResult => ({
  ...{ runId: 'run_1', status, success: status === 'succeeded', output: { text: 'A digest.' }, logs: [] },
  ...{ executionTimeMs: 1200, stepsExecuted: 2, ...more },
});

let sequence = 0;

export const runEvent = (kind: string, path: string, at: number, detail: RunEvent['detail'] = {}): RunEvent => ({
  ...{ sequence: ++sequence, kind, path, at, detail },
});

export const logEvent = (path: string, type: string, at: number, message = type): RunEvent =>
  runEvent('log', path, at, { stepId: path.split('/').at(-1), type, message });

/** A run whose history a test writes. */
export function scriptedRun() {
  const events: RunEvent[] = [];
  const ended = Promise.withResolvers<RunResult>();
  let now: Partial<WholeRun> = {};
  const runs: FollowedRun['runs'] = {
    events: async (_by, _id, after = 0) => events.filter((one) => one.sequence > after),
    get: async () => ({ ...RUN, input: {}, doubts: [], ...now }),
    settled: (_by, _id, signal) =>
      Promise.race([
        ended.promise,
        new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ]),
  };
  return {
    runs,
    add: (...more: readonly RunEvent[]) => void events.push(...more),
    become: (change: Partial<WholeRun>) => {
      now = change;
    },
    end: (result: RunResult) => ended.resolve(result),
  };
}
