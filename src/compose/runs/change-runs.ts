import type { Caller, JsonObject, Role } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { ENDED_STATUSES, RESOLUTIONS, type Run, type RunResolution, type StepInDoubt } from '../../core/records/run.ts';
import type { Runs } from '../../core/records/workflow-api.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import type { RunEngine } from '../../workflow/run/engine.ts';
import type { AuditedChange } from '../audited-change.ts';
import { type FindRun, SETTLERS, unknownRun } from './find-run.ts';
import { toRun } from './run-records.ts';
import type { RunWatch } from './run-watch.ts';

export interface ChangeRunsOptions {
  readonly watch: RunWatch;
  readonly find: FindRun;
  readonly engine: () => Promise<RunEngine>;
  /** Throws USAGE_INVALID for a run of another origin. A run whose origin is gone gets the origin of this process. */
  readonly requireOwnOrigin: (run: StoredRun) => Promise<void>;
  /** Stores a run that takes over the results of another one before a step. */
  readonly retryRun: (run: StoredRun, from: string, by: Caller) => Promise<StoredRun>;
  /** Returns the calls of a run that a person has to settle. */
  readonly doubtsOf: (run: StoredRun) => Promise<readonly StepInDoubt[]>;
  readonly audited: <T>(by: Caller, change: AuditedChange, act: () => Promise<T>) => Promise<T>;
}

const CHANGERS: readonly Role[] = ['owner', 'operator'];
/** The most runs below one run that are changed with it. */
export const MAX_BELOW = 10_000;

/** Returns the changes of runs. Each is audited. */
export function changeRuns(options: ChangeRunsOptions): Pick<Runs, 'cancel' | 'resume' | 'retry' | 'resolve'> {
  const { watch, find, engine, audited, requireOwnOrigin } = options;

  async function current({ id }: StoredRun): Promise<Run> {
    const run = await watch.journal.get(id);
    if (!run) throw unknownRun(id);
    return toRun(run);
  }

  async function signal(by: Caller, run: StoredRun, sent: { readonly kind: string; readonly detail: JsonObject }) {
    await watch.journal.signal(run.id, { ...sent, by: by.id });
    await (await engine()).wake(run.id);
  }

  /** Executes the runs below a run, too: the process that executed it has left or died with them. */
  async function resumeBelow(run: string): Promise<void> {
    for (const { id } of await watch.journal.list({ parent: run, status: 'open', limit: MAX_BELOW })) {
      await (await engine()).resume(id).catch((thrown) => {
        if (HeddleError.from(thrown).code !== 'RUN_OWNED') throw thrown;
      });
      await resumeBelow(id);
    }
  }

  return {
    async cancel(by, id, reason) {
      const run = await find.toChange(by, id, CHANGERS);
      if (ENDED_STATUSES.includes(run.status)) return toRun(run);
      await requireOwnOrigin(run);
      const detail = { run: run.id, ...(reason !== undefined && { reason }) };
      await audited(by, { action: 'cancel', detail }, () => signal(by, run, { kind: 'cancel', detail }));
      return current(run);
    },
    async resume(by, id) {
      const run = await find.toChange(by, id, CHANGERS);
      await requireOwnOrigin(run);
      const detail = { run: run.id };
      await audited(by, { action: 'resume', detail }, async () => {
        await (await engine()).resume(run.id);
        await resumeBelow(run.id);
      });
      return current(run);
    },
    async retry(by, id, from) {
      const run = await find.toChange(by, id, CHANGERS);
      await requireOwnOrigin(run);
      const retried = await audited(by, { action: 'retry', detail: { run: run.id, from } }, async () => {
        const next = await options.retryRun(run, from, by);
        await (await engine()).start(next.id);
        return next;
      });
      return toRun(retried);
    },
    async resolve(by, id, resolution) {
      const run = await find.toChange(by, id, SETTLERS);
      await requireOwnOrigin(run);
      const { how, note } = resolution;
      if (!RESOLUTIONS.includes(how)) throw unknownDecision();
      const path = pathInDoubt(run, await options.doubtsOf(run), resolution);
      const detail = { run: run.id, how, path, ...(note !== undefined && { note }) };
      await audited(by, { action: 'resolve', detail }, () =>
        signal(by, run, { kind: 'resolve', detail: { ...resolution, path } }),
      );
      return current(run);
    },
  };
}

/** Returns the path of the step that a decision is about. Throws INPUT_INVALID if it is not in doubt. */
function pathInDoubt({ id }: StoredRun, doubts: readonly StepInDoubt[], { path }: RunResolution): string {
  const paths = doubts.map((doubt) => doubt.path);
  const [first, ...others] = paths;
  if (first === undefined)
    throw new HeddleError('INPUT_INVALID', `No call of the run ${id} is in doubt.`, {
      fix: `See its state with \`heddle runs show ${id}\`.`,
    });
  if (path === undefined && others.length === 0) return first;
  if (path !== undefined && paths.includes(path)) return path;
  throw new HeddleError(
    'INPUT_INVALID',
    path === undefined
      ? `${paths.length} steps of the run ${id} are in doubt.`
      : `The named step of the run ${id} is not in doubt.`,
    { fix: `Name one of these steps: ${paths.join(', ')}.` },
  );
}

const unknownDecision = () =>
  new HeddleError('INPUT_INVALID', 'The decision about a call in doubt is none of the known ones.', {
    fix: `Give \`how\` one of these values: ${RESOLUTIONS.join(', ')}.`,
  });
