import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished } from 'vitest';
import type { ConnectionOptions, Database, StatementOptions } from '../../../../src/builtin/database/database.ts';
import { openSqliteDatabase } from '../../../../src/builtin/database/sqlite/open-sqlite-database.ts';
import { openWatchdog } from '../../../../src/process/watchdog.ts';
import { carriersOf } from '../../../alive.ts';
import { temporaryFolder } from '../../../temporary-heddle.ts';

export const OPTIONS: StatementOptions = {
  ...{ maxRows: 1000, maxBytes: 5 * 1024 * 1024, timeoutMs: 60_000 },
  signal: new AbortController().signal,
};

const SHOP = `
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL DEFAULT 1.5, "delete" INTEGER);
INSERT INTO item VALUES (1, 'cup', 2.5, 0), (2, 'pot', 20.0, 1), (3, 'jar', 7.25, 0);
CREATE TABLE sale (id INTEGER PRIMARY KEY AUTOINCREMENT, item REFERENCES item (id), day TEXT, count INTEGER);
INSERT INTO sale (item, day, count) VALUES (1, '2026-01-01', 3), (1, '2026-01-02', 4), (2, '2026-01-02', 1), (3, '2026-02-01', 9);
CREATE INDEX sale_day ON sale (day);
CREATE VIEW revenue AS SELECT name, sum(price * count) AS total FROM item JOIN sale ON sale.item = item.id GROUP BY name;
CREATE TABLE document (body TEXT);
INSERT INTO document VALUES ('{"a": [1, 2, {"b": "c"}]}');
CREATE VIRTUAL TABLE note USING fts5 (title, body);
INSERT INTO note VALUES ('first', 'the quick brown fox'), ('second', 'lazy dogs sleep');
CREATE VIRTUAL TABLE box USING rtree (id, x0, x1, y0, y1);
INSERT INTO box VALUES (1, 0, 1, 0, 1), (2, 5, 6, 5, 6);
CREATE VIRTUAL TABLE area USING geopoly (name);
INSERT INTO area (_shape, name) VALUES ('[[0,0],[1,0],[1,1],[0,0]]', 'half');
CREATE VIRTUAL TABLE old USING fts4 (body);
INSERT INTO old VALUES ('hello world');
CREATE TABLE counter (n INTEGER);
INSERT INTO counter VALUES (0);
`;

/** Makes a folder with the database of a shop. Its connections are closed when the test ends. */
export async function aShop(sql = SHOP) {
  const folder = await temporaryFolder();
  const file = join(folder, 'shop.db');
  const connection: ConnectionOptions = {
    ...{ name: 'shop', type: 'sqlite', database: file, access: 'read' },
    ...{ allowDdl: false, allowPrivilegedRole: false, allowFunctions: [] },
  };
  const opened: Database[] = [];
  const watchdog = openWatchdog();
  const owner = watchdog.mark().split('.')[0] ?? '';
  onTestFinished(async () => {
    await Promise.all(opened.map((database) => database.close()));
    watchdog.close();
    expect(carriersOf(owner)).toEqual([]);
  });
  writeDirectly(file, sql);
  return {
    folder,
    file,
    connection,
    /** Returns the process ids of the children that run. */
    children: () => carriersOf(owner),
    async open(options: Partial<ConnectionOptions> & { readonly idleMs?: number } = {}): Promise<Database> {
      const { idleMs, ...rest } = options;
      const parts = { watchdog, ...(idleMs !== undefined && { idleMs }) };
      const database = await openSqliteDatabase({ ...connection, ...rest }, OPTIONS.signal, parts);
      opened.push(database);
      return database;
    },
  };
}

/** Changes a database from this process. */
export function writeDirectly(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

/** Runs SQL and returns its first row, from this process. */
export function readDirectly(file: string, sql: string): Record<string, unknown> | undefined {
  const database = new DatabaseSync(file);
  try {
    return database.prepare(sql).get();
  } finally {
    database.close();
  }
}

/** Returns the names and hashes of all files of a folder. */
export function fingerprintOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).sort();
  const hashOf = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
  return Object.fromEntries(names.map((name) => [name, hashOf(name)]));
}
