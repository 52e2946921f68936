import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { freshSqlite, recordOf } from '../fixtures.ts';
import { openStore } from '../open-store.ts';
import { openTable } from './open-table.ts';
import { pacedTable } from './paced-table.ts';
import { readAudit } from './read-audit.ts';

/** Opens a store and a paced table of it. The clock stands still unless the test moves it. */
async function opened() {
  const { location, remove } = await freshSqlite();
  const store = await openStore({ location });
  const table = await openTable(location);
  onTestFinished(async () => {
    await table.close();
    await store.close();
    await remove();
  });
  const time = { now: 0 };
  const pauses: number[] = [];
  const paced = pacedTable(table, {
    clock: () => time.now,
    pause: async (milliseconds) => void pauses.push(milliseconds),
  });
  const read = () => paced.read({ sql: 'SELECT 1', values: [] });
  return { store, paced, read, pauses, time };
}

verifies('G11', 'reads without a pause while nothing is written', async () => {
  const { store, paced, pauses, time } = await opened();
  for (let count = 0; count < 4_999; count++) store.audit.append(recordOf());
  await store.audit.appendDurably(recordOf());
  let rows = 0;
  for await (const batch of readAudit(paced, {}, { order: 'newest' })) {
    rows += batch.length;
    time.now += 10;
  }
  expect([rows, pauses]).toEqual([5_000, []]);
});

verifies(
  'G11',
  'pauses as long as the last read took while few records are written, and never over 200 ms',
  async () => {
    const { store, read, pauses, time } = await opened();
    await read();
    time.now += 20;
    await store.audit.appendDurably(recordOf());
    await read();
    time.now += 3;
    await read();
    time.now += 1_000;
    await store.audit.appendDurably(recordOf());
    await read();
    expect(pauses).toEqual([20, 200]);
  },
);

verifies('G11', 'pauses 39 times as long while the log grows by thousands of records per second', async () => {
  const { store, read, pauses, time } = await opened();
  await read();
  time.now += 4;
  for (let count = 0; count < 39; count++) store.audit.append(recordOf());
  await store.audit.appendDurably(recordOf());
  await read();
  expect(pauses).toEqual([156]);
});

verifies('G11', 'reads 25 records at a time while records are written, and all of them', async () => {
  const { store, paced } = await opened();
  for (let count = 0; count < 1_499; count++) store.audit.append(recordOf());
  await store.audit.appendDurably(recordOf());
  const sizes: number[] = [];
  for await (const batch of readAudit(paced, {}, { order: 'newest' })) {
    sizes.push(batch.length);
    if (sizes.length < 3) await store.audit.appendDurably(recordOf());
  }
  expect(sizes).toEqual([500, 500, 25, 25, 450]);
});
