import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { DatabaseFailure } from '../../../../src/builtin/database/database-failure.ts';
import { alive, carriersOf, killAll } from '../../../alive.ts';
import { within } from '../../../limits.ts';
import { verifies } from '../../../requirements.ts';
import { until } from '../../../until.ts';
import { aShop, OPTIONS, readDirectly } from './temporary-sqlite.ts';

const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';
const ONE = { sql: 'SELECT 1', params: [] };

verifies('B2', 'SQLite: a statement that times out ends with its child, and the next one runs', async () => {
  const { open, children } = await aShop();
  const database = await open();
  const [pid] = children();
  const failure = { code: 'TIMED_OUT', message: expect.stringMatching(/took longer than 50 ms\. It was ended\./) };
  await within(50 + 500, () =>
    expect(database.query({ sql: ENDLESS, params: [] }, { ...OPTIONS, timeoutMs: 50 })).rejects.toMatchObject(failure),
  );
  await until('the child is gone', () => !alive(pid as number));
  expect((await database.query(ONE, OPTIONS)).rows).toEqual([[1]]);
  expect(children()).not.toContain(pid);
});

verifies('B2', 'SQLite: a cancelled statement ends with its child, also while it waits for one', async () => {
  const { open, children } = await aShop();
  const database = await open();
  const controllers = [1, 2, 3].map(() => new AbortController());
  const started = controllers.map(({ signal }) =>
    database.query({ sql: ENDLESS, params: [] }, { ...OPTIONS, signal }).catch((error: DatabaseFailure) => error.code),
  );
  await until('there are two children', () => children().length === 2);
  controllers[2]?.abort();
  expect(await started[2]).toBe('CANCELLED');
  expect(children()).toHaveLength(2);
  for (const controller of controllers) controller.abort();
  expect(await Promise.all(started)).toEqual(['CANCELLED', 'CANCELLED', 'CANCELLED']);
  await until('the children are gone', () => children().length === 0);
  await expect(database.query(ONE, { ...OPTIONS, signal: AbortSignal.abort() })).rejects.toThrow(/was not sent/);
  expect(children()).toEqual([]);
});

verifies('B2', 'SQLite: a cancelled or timed out write is rolled back', async () => {
  const { open, file, children } = await aShop();
  const database = await open({ access: 'readwrite' });
  const sql = `INSERT INTO counter ${ENDLESS.replace('count(*)', 'x')}`;
  const controller = new AbortController();
  const cancelled = database.execute({ sql, params: [] }, { ...OPTIONS, signal: controller.signal });
  await until('the write has begun', () => children().length === 1);
  controller.abort();
  await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED', message: expect.stringMatching(/rolled back/) });
  await expect(database.execute({ sql, params: [] }, { ...OPTIONS, timeoutMs: 50 })).rejects.toMatchObject({
    ...{ code: 'TIMED_OUT', message: expect.stringMatching(/rolled back/) },
  });
  const { rows } = await database.query({ sql: 'SELECT count(*), sum(n) FROM counter', params: [] }, OPTIONS);
  expect(rows).toEqual([[1, 0]]);
  expect(readDirectly(file, 'SELECT count(*) AS count FROM counter')).toEqual({ count: 1 });
});

verifies('B2', 'SQLite: an idle child ends, and the next statement starts another', async () => {
  const { open, children } = await aShop();
  const database = await open({ idleMs: 1 });
  await until('the idle child is gone', () => children().length === 0);
  expect((await database.query(ONE, OPTIONS)).rows).toEqual([[1]]);
});

verifies('B2', 'SQLite: closing waits for statements and leaves no process', async () => {
  const { open, children } = await aShop();
  const database = await open();
  const results = Promise.all(Array.from({ length: 10 }, () => database.query(ONE, OPTIONS)));
  await database.close();
  expect((await results).map(({ rows }) => rows[0])).toEqual(Array(10).fill([1]));
  expect(children()).toEqual([]);
  await expect(database.query(ONE, OPTIONS)).rejects.toMatchObject({ code: 'CONNECTION_FAILED' });
});

verifies('B2', 'SQLite: 100 queries during kills of their children succeed or fail with a code', async () => {
  const { open, children } = await aShop();
  const database = await open();
  const outcomes: string[] = [];
  for (let round = 0; round < 5; round++) {
    const queries = Array.from({ length: 20 }, () =>
      database.query({ sql: 'SELECT count(*) FROM item', params: [] }, OPTIONS).then(
        ({ rows }) => String(rows[0]),
        (error: DatabaseFailure) => error.code,
      ),
    );
    await Promise.race(queries);
    killAll(children());
    outcomes.push(...(await Promise.all(queries)));
  }
  expect(outcomes).toHaveLength(100);
  expect(outcomes.filter((outcome) => outcome !== '3' && outcome !== 'CONNECTION_FAILED')).toEqual([]);
  expect(outcomes).toContain('3');
  await until('queries succeed again', async () =>
    database.query(ONE, OPTIONS).then(
      () => true,
      () => false,
    ),
  );
  expect(children().length).toBeLessThanOrEqual(2);
});

describe.runIf(process.platform === 'linux')('a SQLite child', () => {
  verifies('B2', 'SQLite: a child gets no secret of our environment and has no open database when idle', async () => {
    const { open, children, folder } = await aShop();
    process.env.HEDDLE_TEST_SECRET = 'secret';
    await open();
    const [pid] = children();
    const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .filter(Boolean)
      .map((pair) => pair.split('=')[0]);
    expect(
      names.filter(
        (name) => !['HEDDLE_LINE', 'NODE_COMPILE_CACHE', 'PWD', 'OLDPWD', 'SHLVL', '_'].includes(name ?? ''),
      ),
    ).toEqual([]);
    const descriptors = readdirSync(`/proc/${pid}/fd`).map((name) => readlinkSync(`/proc/${pid}/fd/${name}`));
    expect(descriptors.filter((target) => target.startsWith(folder))).toEqual([]);
    expect(readFileSync(`/proc/${pid}/limits`, 'utf8')).toMatch(/Max data size +1073741824 /);
  });

  verifies('B2', 'SQLite: children end with a killed Heddle, even during a statement', async () => {
    const { connection } = await aShop();
    const program = `
      import { openSqliteDatabase } from ${JSON.stringify(join(import.meta.dirname, '../../../../src/builtin/database/sqlite/open-sqlite-database.ts'))};
      import { openWatchdog } from ${JSON.stringify(join(import.meta.dirname, '../../../../src/process/watchdog.ts'))};
      const watchdog = openWatchdog();
      const { signal } = new AbortController();
      const database = await openSqliteDatabase(${JSON.stringify(connection)}, signal, { watchdog });
      const limits = { maxRows: 1, maxBytes: 1000, timeoutMs: 600_000, signal };
      for (let count = 0; count < 2; count++) void database.query({ sql: ${JSON.stringify(ENDLESS)}, params: [] }, limits);
      process.stdout.write(watchdog.mark().split('.')[0]);`;
    const parent = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [owner] = (await once(parent.stdout, 'data')) as [Buffer];
    await until('two children run', () => carriersOf(owner.toString()).length === 2);
    parent.kill('SIGKILL');
    await until('no child is left', () => carriersOf(owner.toString()).length === 0);
  });
});
