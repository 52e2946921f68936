import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { DBOSConfig, DLogger } from '@dbos-inc/dbos-sdk';
import { HeddleError } from '../../core/errors.ts';
import { openPool } from '../../store/postgres/open-pool.ts';
import { type DbosSdk, loadDbos } from './load-dbos.ts';

/** The application name in DBOS. Without it DBOS would also execute the runs of other applications on the database. */
const APPLICATION = 'heddle';
/** The version of `driveRun`, not of Heddle. An executor ignores the runs of another version. */
const DRIVER_VERSION = 'heddle-1';
/** The schema of the tables of DBOS, beside Heddle's own `heddle`. */
const SCHEMA = 'heddle_dbos';
/** The name of the DBOS workflow that drives a run. */
const DRIVER = 'heddle-run';
/** Runs that any process with runs may execute. */
const QUEUE = 'heddle-runs';
const QUEUE_POLL_MS = 500;
const TOPIC = 'wake';
/** A run that waits for a person is advanced once a day, in case a wake-up message was lost. */
const LONGEST_WAIT_S = 86_400;
/** A message arrives by NOTIFY. The poll is for one that was lost with its connection. */
const POLL_MS = 30_000;
const POOL_SIZE = 10;

/** Identifies this process. DBOS gives the runs of an id to each process that has it. */
export const EXECUTOR = randomUUID();

/** The end of one `advance`: the run has ended, or waits for a time or a message. */
export interface RunPause {
  readonly ended: boolean;
  readonly wakeAt?: number;
}

/** Executes runs in this process. */
export interface RunDriver {
  /** Executes runs of other processes, too. */
  readonly pickUp: boolean;
  /** Advances a run. It never rejects, and does not settle once the driver is closed. */
  advance(run: string): Promise<RunPause>;
  /** Learns of a run that waits until the returned function is called. */
  onWaiting(run: string): () => void;
  /** Learns of a run that has ended, or that DBOS has given to another process. */
  onLeft(run: string): void;
}

export type DbosPlace = 'here' | 'queue';

/** DBOS in this process. */
export interface DbosRuntime {
  /** Starts to drive a run, in this process or in any with runs. Does nothing if DBOS knows the run. */
  start(run: string, place: DbosPlace): Promise<void>;
  /** Sends a wake-up message to a run. Returns false if DBOS does not know the run. */
  wake(run: string): Promise<boolean>;
  /** Returns the executor of a run that is driven now; `queued` if it waits for one; undefined if none drives it. */
  executorOf(run: string): Promise<string | undefined>;
  /** Returns the executors that have runs. */
  executors(): Promise<readonly string[]>;
  /** Gives runs to the processes with runs, or to this one. DBOS then refuses writes of the earlier executor. */
  handOver(runs: readonly string[], place: DbosPlace): Promise<void>;
  /** Hands over the runs of one executor. */
  takeOver(executor: string): Promise<void>;
  /** Returns those runs that DBOS does not drive. A run whose driver has failed is driven again. */
  restartLost(runs: readonly string[]): Promise<readonly string[]>;
  /** Removes the rows of drivers that ended before a time. */
  prune(before: number): Promise<void>;
  close(): Promise<void>;
}

interface Instance {
  readonly location: string;
  readonly drivers: Set<RunDriver>;
  /** The driver that has started a run. */
  readonly startedBy: Map<string, RunDriver>;
  readonly opened: Promise<Opened>;
}

interface Opened {
  readonly sdk: DbosSdk;
  readonly pool: Awaited<ReturnType<typeof openPool>>;
}

// DBOS keeps its state in static fields: one instance per process.
let instance: Instance | undefined;
let closing: Promise<void> = Promise.resolve();
let registered: ((run: string) => Promise<void>) | undefined;

/** Opens DBOS on a Postgres store. Two drivers of one process share it if they have the same store. */
export async function openDbosRuntime(location: string, driver: RunDriver): Promise<DbosRuntime> {
  await closing;
  if (instance && instance.location !== location) throw otherDatabase();
  instance ??= { location, drivers: new Set(), startedBy: new Map(), opened: launch(location, driver.pickUp) };
  const joined = instance;
  joined.drivers.add(driver);
  // Calls of DBOS inside of a step belong to that step, so each call leaves the context of its caller.
  const outside = AsyncLocalStorage.snapshot();
  try {
    const opened = await joined.opened;
    return runtimeOf(joined, opened, { driver, outside });
  } catch (cause) {
    joined.drivers.delete(driver);
    if (instance === joined) instance = undefined;
    throw cause;
  }
}

const otherDatabase = () =>
  new HeddleError('STORE_UNAVAILABLE', 'This process executes workflows on another Postgres store already.', {
    fix: 'Use one store per process, or start a process for each store.',
  });

async function launch(location: string, pickUp: boolean): Promise<Opened> {
  const sdk = await loadDbos();
  const { DBOS } = sdk;
  const pool = await openPool(location, { max: POOL_SIZE });
  registered ??= DBOS.registerWorkflow((run: string) => driveRun(sdk, run), {
    name: DRIVER,
    maxRecoveryAttempts: Number.MAX_SAFE_INTEGER,
  });
  const config: DBOSConfig = {
    ...{ name: APPLICATION, applicationVersion: DRIVER_VERSION, executorID: EXECUTOR, logger: SILENT },
    ...{ systemDatabasePool: pool, systemDatabasePoolSize: POOL_SIZE, systemDatabaseSchemaName: SCHEMA },
    // A process without runs takes none from the queue.
    listenQueues: pickUp ? [QUEUE] : [],
  };
  try {
    DBOS.setConfig(config);
    await DBOS.launch();
    await DBOS.registerQueue(QUEUE, { minPollingIntervalMs: QUEUE_POLL_MS });
    return { sdk, pool };
  } catch (cause) {
    await DBOS.shutdown().catch(() => undefined);
    await pool.end();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new HeddleError('STORE_UNAVAILABLE', `The tables of the workflow engine cannot be opened: ${reason}`, {
      cause,
      fix: 'Check that the role of `store` may create the schema `heddle_dbos`.',
    });
  }
}

// DBOS logs to the console by default. Its failures reach callers as errors, or are tried again.
const SILENT: DLogger = { info() {}, debug() {}, warn() {}, error() {} };

/** Drives one run: the only DBOS workflow. Each `advance` is a step, which DBOS executes at least once. */
async function driveRun({ DBOS }: DbosSdk, run: string): Promise<void> {
  try {
    for (;;) {
      const driver = driverOf(run);
      const pause = await DBOS.runStep(() => driver.advance(run), { name: 'advance' });
      if (pause.ended) return;
      const { wakeAt } = pause;
      const endWait = driver.onWaiting(run);
      const end = wakeAt === undefined ? { timeoutSeconds: LONGEST_WAIT_S } : { deadlineEpochMS: wakeAt };
      await DBOS.recv(TOPIC, { ...end, pollingIntervalMs: POLL_MS }).finally(endWait);
    }
  } finally {
    driverOf(run).onLeft(run);
    instance?.startedBy.delete(run);
  }
}

function driverOf(run: string): RunDriver {
  const { startedBy, drivers } = instance ?? { startedBy: new Map<string, RunDriver>(), drivers: new Set<RunDriver>() };
  const driver = startedBy.get(run) ?? [...drivers].find(({ pickUp }) => pickUp) ?? [...drivers][0];
  return driver ?? CLOSED;
}

// The run goes on in another process, which has taken it over by then.
const CLOSED: RunDriver = {
  pickUp: false,
  advance: () => new Promise(() => {}),
  onWaiting: () => () => undefined,
  onLeft: () => undefined,
};

interface Use {
  readonly driver: RunDriver;
  /** Calls a function outside of the context of its caller. */
  readonly outside: <R>(work: () => R) => R;
}

function runtimeOf(joined: Instance, { sdk, pool }: Opened, { driver, outside }: Use): DbosRuntime {
  const { DBOS } = sdk;
  const ids = async (query: Parameters<typeof DBOS.listWorkflows>[0]) =>
    outside(() => DBOS.listWorkflows({ workflowName: DRIVER, loadInput: false, loadOutput: false, ...query }));
  const handOver = async (runs: readonly string[], place: DbosPlace) => {
    if (place === 'here') for (const run of runs) joined.startedBy.set(run, driver);
    // Each process takes runs from the internal queue of DBOS, also one that does not listen to ours.
    const options = place === 'queue' ? { queueName: QUEUE } : {};
    if (runs.length > 0) await outside(() => DBOS.resumeWorkflows([...runs], options));
  };
  const start = async (run: string, place: DbosPlace) => {
    if (place === 'here') joined.startedBy.set(run, driver);
    const options = { workflowID: run, ...(place === 'queue' && { queueName: QUEUE }) };
    await outside(() => DBOS.startWorkflow(registered ?? unregistered, options)(run));
  };
  return {
    start,
    handOver,
    async wake(run) {
      try {
        await outside(() => DBOS.send(run, 'wake', TOPIC));
        return true;
      } catch (thrown) {
        if (thrown instanceof sdk.Error.DBOSNonExistentWorkflowError) return false;
        throw thrown;
      }
    },
    async executorOf(run) {
      const [found] = await ids({ workflowIDs: [run] });
      if (found?.status === 'PENDING') return found.executorId;
      return found?.status === 'ENQUEUED' ? 'queued' : undefined;
    },
    async executors() {
      // DBOS lists workflows only; a store can have many that wait.
      const sql = `SELECT DISTINCT executor_id FROM "${SCHEMA}".workflow_status WHERE status = 'PENDING' AND name = $1`;
      const { rows } = await pool.query<{ executor_id: string | null }>(sql, [DRIVER]);
      return rows.flatMap(({ executor_id: id }) => id ?? []);
    },
    async takeOver(dead) {
      const left = await ids({ executorId: dead, status: 'PENDING' });
      await handOver(
        left.map(({ workflowID }) => workflowID),
        'queue',
      );
    },
    async restartLost(runs) {
      const known = await ids({ workflowIDs: [...runs] });
      const failed = known.filter(({ status }) => FAILED.includes(status));
      for (const { workflowID } of failed)
        await outside(() => DBOS.rewindWorkflow(workflowID, { applicationVersion: DRIVER_VERSION, queueName: QUEUE }));
      const names = new Set(known.map(({ workflowID }) => workflowID));
      return runs.filter((run) => !names.has(run));
    },
    async prune(before) {
      const completedBefore = new Date(before).toISOString();
      const old = await ids({ status: 'SUCCESS', completedBefore, limit: PRUNED_AT_ONCE });
      if (old.length > 0) await outside(() => DBOS.deleteWorkflows(old.map(({ workflowID }) => workflowID)));
    },
    async close() {
      joined.drivers.delete(driver);
      for (const [run, starter] of joined.startedBy) if (starter === driver) joined.startedBy.delete(run);
      if (joined.drivers.size > 0 || instance !== joined) return;
      instance = undefined;
      closing = DBOS.shutdown().finally(() => pool.end());
      await closing;
    },
  };
}

const PRUNED_AT_ONCE = 500;
const FAILED: readonly string[] = ['ERROR', 'CANCELLED', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED'];
const unregistered = async (): Promise<void> => {
  throw new HeddleError('INTERNAL', 'DBOS was used before it was opened.');
};
