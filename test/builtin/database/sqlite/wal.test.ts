import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished } from 'vitest';
import { openSqliteFile } from '../../../../src/builtin/database/sqlite/open-sqlite-file.ts';
import { verifies } from '../../../requirements.ts';
import { aShop, fingerprintOf, OPTIONS, writeDirectly } from './temporary-sqlite.ts';

describe('SQLite in WAL mode', () => {
  const WAL = 'PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)';
  const sql = 'SELECT a FROM t';

  verifies('B2', 'SQLite: a WAL database without a writer is read, and no side file is made', async () => {
    const { folder, open } = await aShop(WAL);
    const before = fingerprintOf(folder);
    expect(Object.keys(before)).toEqual(['shop.db']);
    const database = await open();
    expect((await database.query({ sql, params: [] }, OPTIONS)).rows).toEqual([[1]]);
    await database.close();
    expect(fingerprintOf(folder)).toEqual(before);
  });

  verifies('B2', 'SQLite: a WAL database with a writer is read with its latest commit', async () => {
    const { file, open } = await aShop(WAL);
    const database = await open();
    const writer = new DatabaseSync(file);
    onTestFinished(() => writer.close());
    for (let a = 2; a < 5; a++) {
      writer.exec(`UPDATE t SET a = ${a}`);
      expect((await database.query({ sql, params: [] }, OPTIONS)).rows).toEqual([[a]]);
    }
  });

  verifies('B2', 'SQLite: a WAL database is read through a link and with any name', async () => {
    const { folder, open } = await aShop(WAL);
    const file = join(folder, 'a b%20#?&;é.db');
    const link = join(folder, 'link.db');
    writeDirectly(file, WAL);
    symlinkSync(file, link);
    const [odd, linked] = [await open({ database: file }), await open({ database: link })];
    const read = () =>
      Promise.all([odd, linked].map(async (one) => (await one.query({ sql, params: [] }, OPTIONS)).rows[0]));
    expect(await read()).toEqual([[1], [1]]);
    const writer = new DatabaseSync(file);
    writer.exec('UPDATE t SET a = 2');
    expect(await read()).toEqual([[2], [2]]);
    writer.close();
    // No idle child has the file open, so the writer removes the side files.
    expect(Object.keys(fingerprintOf(folder))).toHaveLength(3);
  });

  verifies('B2', 'SQLite: a read without locks is stale as soon as a writer has begun', async () => {
    const { file } = await aShop(WAL);
    const { db, isStale } = openSqliteFile({ file, mayRecover: false, busyMs: 0 }, 'read');
    onTestFinished(() => db.close());
    expect(isStale()).toBe(false);
    const writer = new DatabaseSync(file);
    writer.exec('UPDATE t SET a = 2');
    expect(isStale()).toBe(true);
    writer.close();
    expect(isStale()).toBe(true);
  });

  verifies('B2', 'SQLite: a WAL database without its side file is an error that names it', async () => {
    const { file, folder, open } = await aShop(WAL);
    const writer = new DatabaseSync(file);
    writer.exec('UPDATE t SET a = 2');
    const copy = join(folder, 'copy.db');
    execFileSync('cp', [file, copy]);
    execFileSync('cp', [`${file}-wal`, `${copy}-wal`]);
    writer.close();
    const before = fingerprintOf(folder);
    await expect(open({ database: copy })).rejects.toThrow(/side file "-wal", but its side file "-shm" is missing/);
    expect(fingerprintOf(folder)).toEqual(before);
    const database = await open({ database: copy, access: 'readwrite' });
    expect((await database.query({ sql, params: [] }, OPTIONS)).rows).toEqual([[2]]);
  });
});
