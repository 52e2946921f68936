import type { Caller, Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { ENDED_STATUSES, type Run } from '../../core/records/run.ts';
import type { Runs, WorkflowChoice } from '../../core/records/workflow-api.ts';
import { isProcessAlive } from '../../process/process-start.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import type { RunQueue } from '../../store/run-queue.ts';
import { inputDefaults } from '../../workflow/definition/input-defaults.ts';
import { type BeginRunOptions, beginRun } from './begin-run.ts';
import { type ChangeRunsOptions, changeRuns } from './change-runs.ts';
import { findRuns, readsOthers, unknownRun } from './find-run.ts';
import type { RunCallers } from './run-caller.ts';
import { runFollowers } from './run-progress.ts';
import { RESULT_KINDS, toRun, toRunResult } from './run-records.ts';
import { untilEnded } from './run-watch.ts';

export interface RunsApiOptions extends BeginRunOptions, Omit<ChangeRunsOptions, 'find'> {
  /** Makes a workflow callable, an unregistered definition only until `leave` is called. Returns its name. */
  readonly enter: (by: Caller, workflow: WorkflowChoice) => Promise<{ readonly name: string; leave(): Promise<void> }>;
  readonly store: { readonly runQueue?: Pick<RunQueue, 'unowned'> };
  readonly wallClock: () => number;
  /** Aborts when Heddle closes: no caller waits longer. */
  readonly closing: AbortSignal;
  readonly callers: Pick<RunCallers, 'isOwn' | 'ownOf'>;
}

const DEFAULT_LIMIT = 100;
const MAX_UNOWNED = 1000;

/** Marks the runs that are due and that no living process executes. */
async function withStopped<T extends Run>(
  { store, watch, wallClock }: RunsApiOptions,
  runs: readonly T[],
): Promise<readonly T[]> {
  const isOpen = runs.some(({ status }) => !ENDED_STATUSES.includes(status));
  if (!isOpen) return runs;
  const [now, limit] = [wallClock(), MAX_UNOWNED];
  const unowned = store.runQueue
    ? await store.runQueue.unowned({ now, limit, isAlive: isProcessAlive })
    : (await watch.journal.unleased(now, limit)).map(({ id }) => id);
  const stopped = new Set(unowned);
  return runs.map((run) => (stopped.has(run.id) ? { ...run, stopped: true } : run));
}

/** Adds the defaults of the definition to the input, as the steps of the run see it. */
const withDefaults = (definition: Json | undefined, input: Json): Json =>
  isObject(input) && isObject(definition) && isObject(definition.input)
    ? { ...inputDefaults(definition.input), ...input }
    : input;

/** Returns the API of runs. Callers see and change their own; those of others need a role. */
export function runsApi(options: RunsApiOptions): Runs {
  const { watch, callers, closing } = options;
  const { journal } = watch;
  const find = findRuns(journal, callers);
  const followers = runFollowers(watch, closing);

  async function stored(id: string): Promise<StoredRun> {
    const run = await journal.get(id);
    if (!run) throw unknownRun(id);
    return run;
  }

  return {
    async start(by, workflow, input, wanted) {
      const { name, leave } = await options.enter(by, workflow);
      try {
        const id = await beginRun(options, { by, name, input, options: wanted });
        followers.follow(id, wanted);
        return toRun(await stored(id));
      } finally {
        await leave();
      }
    },
    async list(by, { limit = DEFAULT_LIMIT, ...query }) {
      const isOnlyOwn = !readsOthers(by, query.status === 'in_doubt');
      const found = await journal.list({ ...query, limit, ...(isOnlyOwn && { caller: by.id }) });
      const shown = isOnlyOwn ? await callers.ownOf(by, found) : found;
      return withStopped(options, shown.map(toRun));
    },
    async get(by, id) {
      const run = await find.toRead(by, id);
      const [definition, input, output, doubts] = await Promise.all([
        journal.value(run.digest),
        journal.value(run.input),
        run.output === undefined ? undefined : journal.value(run.output),
        options.doubtsOf(run),
      ]);
      const [marked = toRun(run)] = await withStopped(options, [toRun(run)]);
      return {
        ...marked,
        input: withDefaults(definition, input ?? null),
        ...(output !== undefined && { output }),
        doubts,
      };
    },
    events: async (by, id, after) => journal.entries((await find.toRead(by, id)).id, after),
    async settled(by, id, signal) {
      const { id: whole } = await find.toRead(by, id);
      const either = AbortSignal.any([signal, closing]);
      const run = await untilEnded({ watch, run: whole, signal: either, isAwaited: true });
      await followers.done(whole);
      const output = run.output === undefined ? null : await journal.value(run.output);
      return toRunResult(run, output ?? null, await journal.entries(whole, 0, RESULT_KINDS));
    },
    ...changeRuns({ ...options, find }),
  };
}
