import type { RunJournal, StoredRun } from '../../store/run-journal.ts';
import type { RunChildren, RunContext } from './run-context.ts';

type Parts = Pick<RunContext, 'history' | 'writer' | 'pauses'>;
type Place = { readonly path: string; readonly attempt: number; readonly send: number };

export function runChildren({ history, writer, pauses }: Parts): RunChildren {
  // Signals are read before the steps of earlier executions go on.
  const calls = new Map<string, Place>([...history.sent.values()].map((call) => [call.callId, call]));
  return {
    add({ callId, path, call: { attempt }, send }) {
      calls.set(callId, { path, attempt, send });
      return () => {
        calls.delete(callId);
      };
    },
    onWaiting(isWaiting, { callId, run, at }) {
      const place = calls.get(String(callId));
      // A child tells again after a crash.
      if (!place || pauses.isOpen(place.path) === isWaiting || typeof at !== 'number') return;
      const { path, attempt, send } = place;
      if (isWaiting) {
        writer.add('waiting', path, { attempt, send, child: String(run), since: at });
        pauses.open(path, at);
      } else {
        writer.add('decided', path, { attempt, send, at });
        pauses.close(path, at);
      }
    },
  };
}

/** Tells the run above when this one begins and ends to wait for a person: no timeout there counts that time. */
export interface TellParent {
  (isWaiting: boolean, at: number): void;
  /** Resolves when the parent has got all of it. */
  told(): Promise<void>;
}

/** `isWaiting` is the state that the parent knows; undefined if it may have missed one. */
export function tellParent(
  { id, parent, callId = '' }: Pick<StoredRun, 'id' | 'parent' | 'callId'>,
  journal: Pick<RunJournal, 'signal'>,
  isWaiting: boolean | undefined,
): TellParent {
  let known = isWaiting;
  let sent: Promise<unknown> = Promise.resolve();
  function tell(isWaitingNow: boolean, at: number): void {
    if (!parent || known === isWaitingNow) return;
    known = isWaitingNow;
    const kind = isWaitingNow ? 'child-waiting' : 'child-continued';
    const detail = { run: id, callId, at };
    // Without it the time of the parent's step goes on.
    sent = sent.then(() => journal.signal(parent.run, { kind, by: 'heddle', detail })).catch(() => {});
  }
  return Object.assign(tell, { told: async () => void (await sent) });
}
