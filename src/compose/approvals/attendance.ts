import { BoundedMap } from '../../core/bounded-map.ts';
import type { Caller } from '../../core/call.ts';
import { type Clock, steadyClock } from '../../core/time.ts';

/** The time after a read of approvals in which its reader counts as present. */
const PRESENT_MS = 60_000;
const MAX_READERS = 1000;

/** The identities that read approvals of this process in the last minute, such as a page of an approver that polls. */
export interface Attendance {
  note(by: Caller): void;
  /** Tests whether one of them passes a test. */
  some(test: (by: Caller) => boolean): boolean;
}

export function attendance(clock: Clock = steadyClock): Attendance {
  const readers = new BoundedMap<string, { readonly by: Caller; readonly at: number }>(MAX_READERS);
  return {
    note: (by) => void readers.set(JSON.stringify([by.id, by.profile ?? null]), { by, at: clock() }),
    some: (test) => [...readers.values()].some(({ by, at }) => clock() - at < PRESENT_MS && test(by)),
  };
}
