import { requireRole } from '../../core/call/caller.ts';
import type { Caller, Role } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import type { RunJournal, StoredRun } from '../../store/run-journal.ts';
import type { RunCallers } from './run-caller.ts';

const READERS: readonly Role[] = ['owner', 'operator', 'auditor'];
/** The roles that settle calls in doubt of others. */
export const SETTLERS: readonly Role[] = ['owner', 'operator', 'approver'];

/** Finds runs for callers: their own, and with a role those of others. */
export interface FindRun {
  /** Finds a run by its id or the beginning of it. Throws NAME_UNKNOWN or NAME_AMBIGUOUS. */
  toRead(by: Caller, id: string): Promise<StoredRun>;
  /** The same for a change. Throws PERMISSION_DENIED for a run of another caller without one of these roles. */
  toChange(by: Caller, id: string, roles: readonly Role[]): Promise<StoredRun>;
}

export function findRuns(
  journal: Pick<RunJournal, 'find'>,
  { isOwn, ownOf }: Pick<RunCallers, 'isOwn' | 'ownOf'>,
): FindRun {
  async function toRead(by: Caller, id: string): Promise<StoredRun> {
    const all = await journal.find(id);
    const own = await ownOf(by, all);
    const candidates = all.filter((run) => own.includes(run) || readsOthers(by, run.status === 'in_doubt'));
    const found = candidates.find((run) => run.id === id) ?? candidates[0];
    if (!found) throw unknownRun(id);
    if (candidates.length > 1 && found.id !== id) throw ambiguousRun(id, candidates);
    return found;
  }

  return {
    toRead,
    async toChange(by, id, roles) {
      const run = await toRead(by, id);
      if (!(await isOwn(by, run))) requireRole(by, roles);
      return run;
    },
  };
}

/** Tests whether a caller reads the runs of others. Approvers read those in doubt, which they can settle. */
export const readsOthers = ({ roles }: Caller, isInDoubt: boolean): boolean =>
  roles.some((role) => READERS.includes(role) || (isInDoubt && SETTLERS.includes(role)));

export const unknownRun = (id: string) =>
  new HeddleError('NAME_UNKNOWN', `There is no run ${cutAndEscapeBreaks(id, 80)}.`, {
    fix: 'Run `heddle runs list --all` to see all.',
  });

const ambiguousRun = (id: string, found: readonly StoredRun[]) =>
  new HeddleError('NAME_AMBIGUOUS', `${id} is the beginning of ${found.length} ids.`, {
    fix: `Write one of ${found.map((one) => one.id).join(', ')}.`,
  });
