import { describe, expect, onTestFinished } from 'vitest';
import { freshSqlite, testPostgres } from '../../src/store/fixtures.ts';
import { startPostgres } from '../../tools/postgres.mjs';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { attend, openLedgerHeddle, startMissing } from '../servers/running-process.ts';
import { checkRuns, exitOf, type LedgerStage, ledgerStage, startProcess } from './ledger-stage.ts';

const RUNS = MEASURES ? 200 : 6;
const KILLS = MEASURES ? 100 : 2;
const TIMEOUT_MS = MEASURES ? 3_600_000 : undefined;

interface Plan {
  readonly processes: number;
  /** Called once, after half of the kills. */
  readonly halfway?: () => Promise<void>;
}

/** Kills the processes in turn, each at a random call, and starts another one for each. */
async function killInTurn(stage: LedgerStage, { processes, halfway }: Plan): Promise<void> {
  const { ledger } = stage;
  const workers = await Promise.all(Array.from({ length: processes }, () => startProcess(stage)));
  for (let kill = 0; kill < KILLS; kill++) {
    const passed = Promise.withResolvers<void>();
    let calls = Math.floor(Math.random() * ((RUNS * 20) / KILLS));
    ledger.onPoint = () => {
      if (calls-- <= 0) passed.resolve();
      return true;
    };
    await passed.promise;
    const [victim] = workers.splice(0, 1);
    victim?.kill('SIGKILL');
    if (victim) await exitOf(victim);
    workers.push(await startProcess(stage));
    if (kill === Math.floor(KILLS / 2)) await halfway?.();
  }
}

/** Starts all runs, kills processes while they are executed, and checks what has happened. */
async function executeAndKill(location: string, plan: Plan): Promise<void> {
  const runless = await ledgerStage(location, 0);
  const stage = { ...runless, runs: RUNS };
  const { folder, ledger } = stage;
  const heddle = await openLedgerHeddle({ folder, url: ledger.url, store: location, runs: false });
  await startMissing(heddle, RUNS);
  const attended = attend(heddle, RUNS, ledger.url);
  await Promise.race([killInTurn(runless, plan), attended]);
  await attended;
  await heddle.close();
  await checkRuns(stage);
}

async function killTwo(): Promise<void> {
  const database = await freshSqlite();
  onTestFinished(() => database.remove());
  await executeAndKill(database.location, { processes: 2 });
  // A process that lives keeps its runs, so no write was refused.
  expect(await database.run("SELECT 1 FROM audit WHERE detail LIKE '%RUN_LEASE_LOST%'")).toEqual([]);
}

const TWO = 'two processes on one SQLite file are killed in turn, and no run is executed by both';
verifies('F8', TWO, killTwo, TIMEOUT_MS);

// The leases of a killed process are over after 9 s: too long for a short run.
if (MEASURES) {
  describe.skipIf(!testPostgres)('on a Postgres server of its own', () => {
    const killThree = async () => {
      const server = await startPostgres();
      onTestFinished(() => server.stop());
      await executeAndKill(server.url, { processes: 3, halfway: () => server.restart() });
    };
    const name = 'three processes are killed at random and the server is restarted, and no run is lost';
    verifies('F8', name, killThree, TIMEOUT_MS);
  });
}
