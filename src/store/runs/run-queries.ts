import type { JsonObject } from '../../core/call.ts';
import { parseExact } from '../../core/exact-numbers.ts';
import { storable } from '../rows.ts';
import { type RunFilter, type RunJournal, runLease } from '../run-journal.ts';
import { type SqlStatement, type Statements, sql } from '../statements.ts';
import { type EntryRow, fromEntryRow } from './journal-rows.ts';
import { RUN_COLUMNS, toRuns } from './run-row.ts';
import { runTable, valuesIn } from './run-tables.ts';

const RUN_LEASE = { raw: `'${runLease('')}'` };
const MAX_FOUND = { raw: '10' };
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;
const ID_TEXT = /^[\w-]{1,100}$/;
/** Comes after every character of an id. */
const AFTER_ID_TEXT = '{';

/** Reads runs, their entries and their signals. Each query uses an index. */
export function runQueries(
  statements: Statements,
): Pick<RunJournal, 'get' | 'find' | 'ofCall' | 'leftBy' | 'list' | 'entries' | 'signals' | 'unleased'> {
  const runs = runTable(statements, 'runs');
  const select = async (rest: SqlStatement) =>
    toRuns(await statements.read(sql`SELECT ${RUN_COLUMNS} FROM ${runs} WHERE ${rest}`));
  return {
    get: async (id) => (await select(sql`id = ${storable(id)}`))[0],
    async find(prefix) {
      if (!ID_TEXT.test(prefix)) return [];
      const exact = await select(sql`id = ${prefix}`);
      if (exact.length > 0) return exact;
      return select(sql`id >= ${prefix} AND id < ${prefix + AFTER_ID_TEXT} ORDER BY id LIMIT ${MAX_FOUND}`);
    },
    ofCall: async (caller, callId) =>
      (await select(sql`caller = ${storable(caller)} AND call_id = ${storable(callId)}`))[0],
    leftBy: (caller, call) => select(sql`caller = ${storable(caller)} AND left_call = ${call} ORDER BY started_at, id`),
    list: ({ limit = DEFAULT_LIMIT, ...filter }) =>
      select(sql`${conditionOf(filter)} ORDER BY started_at DESC, id DESC LIMIT ${Math.min(limit, MAX_LIMIT)}`),
    async entries(run, after = 0, kinds) {
      const ofKinds = kinds ? sql` AND kind IN ${valuesIn(kinds)}` : sql``;
      const rows = await statements.read(
        sql`SELECT sequence, at, kind, path, detail FROM ${runTable(statements, 'run_entries')}
          WHERE run = ${storable(run)} AND sequence > ${after}${ofKinds} ORDER BY sequence`,
      );
      return (rows as unknown as readonly EntryRow[]).map(fromEntryRow);
    },
    unleased(now, limit) {
      const isDue = sql`(status = 'running' OR wake_at <= ${now} OR signal_last > signal_seen)`;
      return select(sql`ended_at IS NULL AND ${isDue} AND NOT EXISTS (
          SELECT 1 FROM ${runTable(statements, 'leases')} AS lease
          WHERE lease.name = ${RUN_LEASE} || id AND lease.expires_at > ${{ raw: statements.now() }})
        ORDER BY started_at LIMIT ${limit}`);
    },
    async signals(run, after) {
      const rows = await statements.read(
        sql`SELECT id, at, kind, caller, detail FROM ${runTable(statements, 'run_signals')}
          WHERE run = ${storable(run)} AND id > ${after} ORDER BY id`,
      );
      return rows.map(({ id, at, kind, caller, detail }) => ({
        ...{ id: Number(id), at: Number(at), kind: String(kind), by: String(caller) },
        detail: parseExact(String(detail)) as JsonObject,
      }));
    },
  };
}

function conditionOf({ status = 'all', workflow, caller, parent }: RunFilter): SqlStatement {
  const ofStatus = { all: sql`1 = 1`, open: sql`ended_at IS NULL` };
  const state = status === 'all' || status === 'open' ? ofStatus[status] : sql`status = ${status}${openness(status)}`;
  const named = workflow === undefined ? sql`` : sql` AND workflow = ${storable(workflow)}`;
  const own = caller === undefined ? sql`` : sql` AND caller = ${storable(caller)}`;
  const child = parent === undefined ? sql`` : sql` AND parent = ${storable(parent)}`;
  return sql`${state}${named}${own}${child}`;
}

/** Lets the database use the index of open runs. */
const openness = (status: string): SqlStatement =>
  ['running', 'waiting', 'in_doubt'].includes(status) ? sql` AND ended_at IS NULL` : sql``;
