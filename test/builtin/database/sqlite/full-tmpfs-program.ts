// Runs in a mount namespace with a small file system at the path of its argument. Prints one JSON object.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { DatabaseFailure } from '../../../../src/builtin/database/database-failure.ts';
import { openSqliteDatabase } from '../../../../src/builtin/database/sqlite/open-sqlite-database.ts';
import { openWatchdog } from '../../../../src/process/watchdog.ts';

const disk = process.argv[2] as string;
const file = join(disk, 'shop.db');
const setup = new DatabaseSync(file);
setup.exec('CREATE TABLE t (a); INSERT INTO t VALUES (1)');
setup.close();
writeFileSync(join(disk, 'filler'), Buffer.alloc(600_000));
const { signal } = new AbortController();
const watchdog = openWatchdog();
const database = await openSqliteDatabase(
  {
    ...{ name: 'shop', type: 'sqlite', database: file, access: 'readwrite' },
    ...{ allowDdl: false, allowPrivilegedRole: false, allowFunctions: [] },
  },
  signal,
  { watchdog },
);
const limits = { maxRows: 10, maxBytes: 100_000, timeoutMs: 60_000, signal };
const write = (bytes: number) =>
  database.execute({ sql: 'INSERT INTO t VALUES (zeroblob(?))', params: [bytes] }, limits);
const full = await write(900_000).then(
  () => 'written',
  ({ code, message }: DatabaseFailure) => `${code} ${message}`,
);
const { rows } = await database.query({ sql: 'SELECT a FROM t', params: [] }, limits);
rmSync(join(disk, 'filler'));
const freed = (await write(100_000)).affectedRows;
await database.close();
watchdog.close();
process.stdout.write(JSON.stringify({ full, rows, freed }));
