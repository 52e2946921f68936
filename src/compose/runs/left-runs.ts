import { hash } from 'node:crypto';
import type { PendingApproval } from '../../core/call/approval.ts';
import type { JsonObject, ResolvedCall } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/json.ts';
import type { RunOrigin } from '../../core/records/run.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import type { RunJournal, StoredRun } from '../../store/run-journal.ts';
import { isOfOrigin } from '../../workflow/run/run-origin.ts';
import type { RunCallers } from './run-caller.ts';

export interface LeftRunsOptions {
  readonly journal: Pick<RunJournal, 'get' | 'entries' | 'leave' | 'leftBy'>;
  readonly isOwn: RunCallers['isOwn'];
  /** The configuration of this process: runs of another one are not found. Absent on Postgres. */
  readonly origin?: RunOrigin | undefined;
  /** Returns an approval if it is pending. */
  readonly pendingApproval: (id: string) => Promise<PendingApproval | undefined>;
  /** Returns how long a request may stay open for an approval, or for a run in doubt. */
  readonly keepOpenMs: (approval: string | undefined) => Promise<number>;
  readonly clock?: Clock;
}

/** The runs whose calls have ended before them: they wait for a person, and their clients have no tasks. */
export interface LeftRuns {
  /** Finds the oldest run that an equal call of the same caller has left. */
  find(call: ResolvedCall): Promise<StoredRun | undefined>;
  /**
   * Returns the check of a call that waits for a run. It throws APPROVAL_PENDING or RUN_IN_DOUBT when the run waits for a
   * person and the time that `keepOpenMs` gives this call is over. Then the call has left the run.
   */
  limit(call: ResolvedCall): (run: StoredRun) => Promise<void>;
}

export function leftRuns(options: LeftRunsOptions): LeftRuns {
  const { journal, pendingApproval, keepOpenMs, clock = steadyClock } = options;

  /** Finds an approval that a run or a run below it waits for. */
  async function awaitedBy({ id, status }: StoredRun): Promise<PendingApproval | undefined> {
    if (status !== 'waiting') return undefined;
    for (const { approval, child } of await openWaits(journal, id)) {
      const below = typeof child === 'string' ? await journal.get(child) : undefined;
      const found = typeof approval === 'string' ? await pendingApproval(approval) : below && (await awaitedBy(below));
      if (found) return found;
    }
    return undefined;
  }

  async function reasonToLeave(run: StoredRun, call: ResolvedCall): Promise<HeddleError | undefined> {
    if (run.status === 'in_doubt') return inDoubt(run);
    const approval = await awaitedBy(run);
    return approval && waitsForApproval(run, call, approval);
  }

  return {
    find: (call) => findLeftRun(options, call),
    limit(call) {
      // One for all waits of the call: its client waits for the whole.
      let since: number | undefined;
      return async (run) => {
        const reason = await reasonToLeave(run, call);
        if (!reason) return;
        since ??= clock();
        const { approval } = reason.details;
        const openMs = await keepOpenMs(typeof approval === 'string' ? approval : undefined);
        if (clock() - since < openMs) return;
        await journal.leave(run.id, digestOf(call));
        throw reason;
      };
    },
  };
}

interface LeftRunFinder extends Pick<LeftRunsOptions, 'isOwn' | 'origin'> {
  readonly journal: Pick<RunJournal, 'leftBy'>;
}

/** Finds the oldest run that an equal call of the same caller has left. */
export async function findLeftRun(
  { journal, isOwn, origin }: LeftRunFinder,
  call: ResolvedCall,
): Promise<StoredRun | undefined> {
  const { caller } = call;
  for (const run of await journal.leftBy(caller.id, digestOf(call))) {
    if (isOfOrigin(run, origin) && (await isOwn(caller, run))) return run;
  }
  return undefined;
}

/** Returns true if the caller gets the run of a call as a task. */
export const hasTask = ({ acceptsTask, isClientWaiting, continuation }: ResolvedCall): boolean =>
  continuation?.kind === 'task' || (acceptsTask === true && !isClientWaiting);

/** Returns the digest that equal calls of a caller have. */
const digestOf = ({ target, input, caller }: ResolvedCall): string =>
  hash(
    'sha256',
    canonicalJson([caller.profile ?? null, target.name, input, ...(caller.agent === undefined ? [] : [caller.agent])]),
  );

/** Returns the details of the waits of a run that have no end in its history. */
async function openWaits(journal: Pick<RunJournal, 'entries'>, run: string): Promise<readonly JsonObject[]> {
  const entries = await journal.entries(run, 0, ['waiting', 'decided']);
  const last = new Map(entries.map((entry) => [entry.path, entry]));
  return [...last.values()].filter(({ kind }) => kind === 'waiting').map(({ detail }) => detail);
}

const waitsForApproval = (
  { id: run }: StoredRun,
  { name }: ResolvedCall,
  { id, approvers, expiresAt }: PendingApproval,
) =>
  new HeddleError('APPROVAL_PENDING', `${name} began the run ${run}, which waits for the approval ${id}.`, {
    fix: `Ask ${approvers.join(' or ')} to run \`heddle approvals approve ${id}\` in a terminal, then repeat the same call to get the result of this run. \`heddle runs show ${run}\` shows its steps.`,
    details: { approval: id, approvers, expiresAt, run },
  });

const inDoubt = ({ id }: StoredRun) =>
  new HeddleError('RUN_IN_DOUBT', `The run ${id} is in doubt: it is not known whether one of its calls happened.`, {
    fix: `Run \`heddle runs show ${id}\` to see the call and the commands that settle it, then repeat the same call to get the result of this run.`,
    details: { run: id },
  });
