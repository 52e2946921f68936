import { describe, expect, onTestFinished } from 'vitest';
import { freshPostgres, freshSqlite, testPostgres } from '../../src/store/fixtures.ts';
import { MEASURES, within } from '../limits.ts';
import { verifies } from '../requirements.ts';
import type { CallPoint, LedgerServer } from '../servers/ledger-server.ts';
import { openLedgerHeddle, owner } from '../servers/running-process.ts';
import { exitOf, ledgerStage, startProcess } from './ledger-stage.ts';

/** Holds the first call that passes a point. */
function holdFirst(ledger: LedgerServer, point: CallPoint, key: string) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const before = ledger.onPoint;
  let isFirst = true;
  ledger.onPoint = async (at, call) => {
    if (!isFirst || at !== point || call.key !== key) return before(at, call);
    isFirst = false;
    reached.resolve();
    await released.promise;
    return true;
  };
  return { reached: reached.promise, release: () => released.resolve() };
}

verifies('W5', 'a run of a killed process goes on in a process beside it, on one SQLite file', async () => {
  const database = await freshSqlite();
  onTestFinished(() => database.remove());
  const stage = await ledgerStage(database.location, 0);
  const { ledger, folder, location } = stage;
  const dead = await startProcess(stage);
  const killed = holdFirst(ledger, 'entered', '1/held');
  const starter = await openLedgerHeddle({ folder, url: ledger.url, store: location, runs: false });
  const { id } = await starter.runs.start(owner, 'held-steps', { n: 1 }, { detach: true });
  await killed.reached;
  await starter.close();
  const living = await openLedgerHeddle({ folder, url: ledger.url, store: location });
  onTestFinished(() => living.close());
  // The living process has looked, and has left the run to its owner.
  const other = await living.runs.start(owner, 'held-steps', { n: 2 }, { detach: true });
  await living.runs.settled(owner, other.id, new AbortController().signal);
  dead.kill('SIGKILL');
  await exitOf(dead);
  const end = await within(15_000, () => living.runs.settled(owner, id, new AbortController().signal));
  expect(end.status).toBe('succeeded');
  killed.release();
  expect(Object.fromEntries(ledger.count('act'))).toEqual({ '1/after': 1, '2/after': 1 });
});

describe.skipIf(!testPostgres)('several processes on one Postgres store', () => {
  verifies('W7', 'continue the runs of a dead and of a stopped process, which then sends nothing more', async () => {
    const database = await freshPostgres();
    onTestFinished(() => database.remove());
    const stage = await ledgerStage(database.location, 0);
    const { ledger, folder, location } = stage;
    const starter = await openLedgerHeddle({ folder, url: ledger.url, store: location, runs: false });
    const start = (workflow: string, n: number) => starter.runs.start(owner, workflow, { n }, { detach: true });

    const dead = await startProcess(stage);
    const killed = holdFirst(ledger, 'entered', '1/held');
    const first = await start('held-steps', 1);
    await killed.reached;
    dead.kill('SIGKILL');
    await exitOf(dead);

    // One of its runs is in a call, the other between the start of a step and the intent of the call.
    const stopped = await startProcess(stage);
    const held = holdFirst(ledger, 'entered', '2/held');
    const hooked = holdFirst(ledger, 'hooked', '3/hooked');
    const others = [await start('held-steps', 2), await start('hooked-step', 3)];
    await Promise.all([held.reached, hooked.reached]);
    stopped.kill('SIGSTOP');
    await starter.close();
    // A soak run waits for the end of the leases, 9 s.
    if (!MEASURES) await database.run('UPDATE leases SET expires_at = 0');

    const heddle = await openLedgerHeddle({ folder, url: ledger.url, store: location });
    onTestFinished(() => heddle.close());
    const { signal } = new AbortController();
    const runs = [first, ...others];
    // 15 s, and the time to open.
    const ends = await within(17_000, () => Promise.all(runs.map(({ id }) => heddle.runs.settled(owner, id, signal))));
    expect(ends.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);

    const written = async () => Promise.all(runs.map(({ id }) => heddle.runs.events(owner, id)));
    const [events, entries] = [await written(), ledger.entries.length];
    for (const { release } of [killed, held, hooked]) release();
    stopped.kill('SIGCONT');
    stopped.stdin?.end();
    expect(await exitOf(stopped)).toBe(0);
    expect(await written()).toEqual(events);
    expect(ledger.entries.slice(entries)).toEqual([]);
    expect(Object.fromEntries(ledger.count('act'))).toEqual({ '1/after': 1, '2/after': 1, '3/hooked': 1 });
    // The store has refused its intents.
    const refused = "SELECT name FROM heddle.audit WHERE detail LIKE '%RUN_LEASE_LOST%'";
    expect(await database.run(refused)).toContainEqual({ name: 'ledger.act' });
  });
});
