import { afterAll, beforeAll, describe, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import type { Database } from '../database.ts';
import { hidePasswordHash } from './check-mysql-grants.ts';
import { type MysqlBench, mysqlBench, runOptions, testMariadb } from './fixtures.ts';

describe.skipIf(!testMariadb)('statements about a MariaDB server', () => {
  let bench: MysqlBench;
  let reader: Database;

  beforeAll(async () => {
    bench = await mysqlBench();
    reader = await bench.open('reader');
  });
  afterAll(() => bench.remove());

  verifies('B2', 'ends ANALYZE of a long query after its time', async () => {
    const sql = 'ANALYZE SELECT COUNT(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b WHERE a.seq <> b.seq';
    await expect(reader.query({ sql, params: [] }, runOptions({ timeoutMs: 1000 }))).rejects.toMatchObject({
      code: 'TIMED_OUT',
    });
  });

  verifies('B2', 'gives up the plan of a change that waits for a lock, and keeps no lock', async () => {
    await bench.run('CREATE TABLE held (id INT PRIMARY KEY, n INT) ENGINE = InnoDB; INSERT INTO held VALUES (1, 1)');
    const writer = await bench.open('writer');
    const sql = 'EXPLAIN UPDATE held a, held b SET a.n = 2 WHERE a.id = 1';
    const plan = () => writer.query({ sql, params: [] }, runOptions({ timeoutMs: 600_000 }));
    await bench.run('START TRANSACTION; SELECT * FROM held WHERE id = 1 FOR UPDATE');
    await expect(plan()).rejects.toThrow('Lock wait timeout exceeded');
    await bench.run('ROLLBACK');
    expect((await plan()).rows).toHaveLength(2);
    await bench.run('UPDATE held SET n = 3');
  });

  verifies('B2', 'leaves the wrong use of a reserved name to the server', async () => {
    await expect(
      reader.query({ sql: 'WITH replace AS (SELECT 1 AS a) SELECT * FROM replace', params: [] }, runOptions()),
    ).rejects.toMatchObject({ code: 'STATEMENT_FAILED', message: expect.stringContaining("near 'replace") });
  });

  verifies('B2', 'shows grants without the hash of the password', async () => {
    const { rows } = await reader.query({ sql: 'SHOW GRANTS', params: [] }, runOptions());
    const [{ hash } = {}] = await bench.run('SELECT Password AS hash FROM mysql.user WHERE User = ?', [
      `${bench.schema}_r`,
    ]);
    expect(String(hash)).toMatch(/^\*[0-9A-F]{40}$/);
    expect(JSON.stringify(rows)).not.toContain(String(hash));
    expect(JSON.stringify(rows)).toContain("IDENTIFIED BY PASSWORD '…'");
    expect(JSON.stringify(rows)).toContain('GRANT SELECT');
  });
});

verifies('B2', 'hides texts in grants, whatever the name of the user', () => {
  const hash = "IDENTIFIED BY PASSWORD '*14E65567'";
  for (const user of ['`ada`@`%`', "`o'brien`@`%`", "`a``'b`@`%`", '"o\'brien"@"%"', "`a\\`@`'`"]) {
    expect(hidePasswordHash(`GRANT USAGE ON *.* TO ${user} ${hash} WITH GRANT OPTION`)).toBe(
      `GRANT USAGE ON *.* TO ${user} IDENTIFIED BY PASSWORD '…' WITH GRANT OPTION`,
    );
  }
  expect(hidePasswordHash("GRANT x TO `a`@`%` IDENTIFIED VIA ed25519 USING 'a''b' OR socket USING 'c")).toBe(
    "GRANT x TO `a`@`%` IDENTIFIED VIA ed25519 USING '…' OR socket USING '…'",
  );
});
