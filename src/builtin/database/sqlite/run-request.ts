import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { DatabaseFailure } from '../database-failure.ts';
import { type Authorizer, authorizer } from './authorizer.ts';
import type { ChildFile, ChildRequest, ChildResult, ChildStatement } from './child-messages.ts';
import { explainSqlite, isUnrecovered, toSqliteFailure } from './explain-sqlite.ts';
import { openSqliteFile } from './open-sqlite-file.ts';
import { readSqliteRows } from './read-sqlite-rows.ts';
import { sqliteTokens } from './sqlite-tokens.ts';

/** A statement that ran and is not yet committed. */
export interface PendingCommit {
  commit(): ChildResult;
}

const EMPTY: ChildResult = { columns: [], rows: [], truncated: false, affectedRows: 0 };
const TRIES = 3;

/** Does what a request asks for. Throws a `DatabaseFailure`. */
export function runRequest(request: ChildRequest): ChildResult | PendingCommit {
  if (request.kind === 'execute') return execute(request);
  return reading(request, (db) => {
    if (request.kind === 'query') return query(db, request);
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return EMPTY;
  });
}

/** Opens the file for reading. Repeats when a writer began meanwhile, and after the recovery that SQLite asks for. */
function reading(request: ChildFile, run: (db: DatabaseSync) => ChildResult): ChildResult {
  for (let left = TRIES; left > 0; left--) {
    let isStale = () => false;
    try {
      const opened = openSqliteFile(request, 'read');
      isStale = opened.isStale;
      try {
        const result = run(opened.db);
        if (!isStale()) return result;
      } finally {
        opened.db.close();
      }
    } catch (thrown) {
      if (request.mayRecover && isUnrecovered(thrown)) recover(request);
      else if (!isStale()) throw toSqliteFailure(thrown);
    }
  }
  throw new DatabaseFailure('STATEMENT_FAILED', 'Other programs change the file too often. Try again.');
}

/** Has SQLite undo or finish what a killed writer left. */
function recover(request: ChildFile): void {
  const { db } = openSqliteFile(request, 'write');
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  } finally {
    db.close();
  }
}

function query(db: DatabaseSync, statement: ChildStatement): ChildResult {
  connectSpatialTables(db);
  const guard = authorizer(statement.grant);
  try {
    return { ...readSqliteRows(prepare(db, statement, guard), statement), affectedRows: 0 };
  } catch (thrown) {
    throw explainSqlite(thrown, { db, sql: statement.sql, guard });
  }
}

/** An R*Tree prepares writes of its own tables when it is first used, which the authorizer would refuse. */
function connectSpatialTables(db: DatabaseSync): void {
  const tables = db.prepare(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0
    AND (sql LIKE '%using%rtree%' OR sql LIKE '%using%geopoly%') LIMIT 1000`,
  );
  for (const [name] of tables.all() as unknown as [string][]) {
    try {
      db.prepare(`SELECT 1 FROM "${name.replaceAll('"', '""')}"`);
    } catch {
      // A broken table fails the statements that use it.
    }
  }
}

function execute(request: ChildRequest & { kind: 'execute' }): PendingCommit {
  const guard = authorizer(request.grant);
  const { db } = openForWriting(request);
  try {
    db.exec('BEGIN IMMEDIATE');
    const prepared = prepare(db, request, guard);
    // DROP … IF EXISTS and CREATE … IF NOT EXISTS may have nothing to do.
    if (request.grant === 'write' && !guard.changes()) {
      throw new DatabaseFailure('STATEMENT_REFUSED', 'The statement changes nothing. Use db_query to read.');
    }
    const rows = readSqliteRows(prepared, request);
    // The authorizer would refuse COMMIT. No text of the caller is prepared from here on.
    db.setAuthorizer(null);
    const [affected] = db.prepare('SELECT changes()').get() as unknown as [bigint];
    // A definition has no rows, but ALTER TABLE leaves columns of its own check.
    const result = request.grant === 'write' ? { ...rows, affectedRows: Number(affected) } : EMPTY;
    return { commit: () => commit(db, result) };
  } catch (thrown) {
    const failure = explainSqlite(thrown, { db, sql: request.sql, guard });
    db.close(); // Rolls back.
    throw failure;
  }
}

function openForWriting(request: ChildFile) {
  try {
    return openSqliteFile(request, 'write');
  } catch (thrown) {
    throw toSqliteFailure(thrown);
  }
}

function commit(db: DatabaseSync, result: ChildResult): ChildResult {
  try {
    db.exec('COMMIT');
    return result;
  } catch (thrown) {
    throw toSqliteFailure(thrown, db.isTransaction ? 'open' : 'ended');
  } finally {
    db.close();
  }
}

/** Prepares the statement under its authorizer. SQLite prepares the first of several and ignores the rest. */
function prepare(db: DatabaseSync, statement: ChildStatement, guard: Authorizer): StatementSync {
  db.setAuthorizer(guard.decide);
  const sql = statement.isPlan ? `EXPLAIN QUERY PLAN ${statement.sql}` : statement.sql;
  const prepared = db.prepare(sql);
  const rest = sql.startsWith(prepared.sourceSQL) ? sql.slice(prepared.sourceSQL.length) : sql;
  for (const { text } of sqliteTokens(rest)) {
    if (text !== ';') throw new DatabaseFailure('STATEMENT_REFUSED', 'Send one statement per call.');
  }
  return prepared;
}
