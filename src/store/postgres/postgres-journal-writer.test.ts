import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { type FreshDatabase, freshPostgres, recordOf, testPostgres } from '../fixtures.ts';
import { openStore } from '../open-store.ts';
import { runLease } from '../run-journal.ts';
import { DEFINITION, INPUT, journalValue, runOf, writeOf } from '../runs/fixtures.ts';
import type { Store } from '../store.ts';

describe.skipIf(!testPostgres)('the journal on Postgres, while another connection has a transaction open', () => {
  let database: FreshDatabase;
  let store: Store;
  let client: Client;

  beforeEach(async () => {
    database = await freshPostgres();
    store = await openStore({ location: database.location, ...database.keys });
    client = new Client({ connectionString: database.location, options: '-c search_path=heddle' });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await store.close();
    await database.remove();
  });

  async function owned(id: string) {
    const run = runOf(id);
    await store.runs.create(run, [DEFINITION, INPUT], []);
    const lease = await store.leases.acquire(runLease(id), 60_000);
    return { run, lease: lease ?? expect.fail('no lease') };
  }

  const untilBlocked = () =>
    until('a statement waits for a lock', async () => {
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      return (await database.run(waiting)).length > 0;
    });

  verifies('W5', 'an intent waits for a takeover that is not committed yet, and is then refused', async () => {
    const claimed = await owned('run_one');
    await client.query('BEGIN');
    await client.query(`UPDATE leases SET epoch = epoch + 1, holder = 'another'`);
    const intent = store.audit.appendDurably(recordOf(), { run: 'run_one', epoch: claimed.lease.epoch });
    const refused = expect(intent).rejects.toMatchObject({ code: 'RUN_LEASE_LOST' });
    await untilBlocked();
    await client.query('COMMIT');
    await refused;
    expect(await store.audit.search({ limit: 1 })).toEqual([]);
  });

  verifies('W5', 'prune keeps a value that a run uses in an open transaction', async () => {
    const claimed = await owned('run_one');
    const value = journalValue('v'.repeat(70_000));
    const change = { status: 'succeeded', endedAt: 5 } as const;
    await store.runs.append(writeOf(claimed, [1], { values: [value], change }), 'now');
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM run_values FOR KEY SHARE');
    const pruned = store.runs.prune(10);
    await untilBlocked();
    await client.query(`INSERT INTO run_value_uses VALUES ('run_two', '${value.sha256}')`);
    await client.query('COMMIT');
    expect(await pruned).toBe(1);
    expect(await store.runs.value(value.sha256)).toBe('v'.repeat(70_000));
    expect(await store.runs.value(INPUT.sha256)).toBeUndefined();
  });
});
