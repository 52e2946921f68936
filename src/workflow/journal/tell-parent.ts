import type { RunJournal, StoredRun } from '../../store/run-journal.ts';

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
