import { randomUUID } from 'node:crypto';
import type { RunOrigin } from '../../core/records/run.ts';
import type { Clock } from '../../core/time.ts';
import type { Lease } from '../lease-book.ts';
import { originText, runLease } from '../run-journal.ts';
import type { ClaimedRun, ClaimOptions, RunOwner, RunQueue } from '../run-queue.ts';
import { type SqlRow, type SqlStatement, type Statements, sql } from '../statements.ts';
import { nextEpoch } from '../vault/vault-tables.ts';
import { RUN_COLUMNS, toRuns } from './run-row.ts';
import { countRunChange, runTable, valuesIn } from './run-tables.ts';

/** The time for which a lease is written. A live owner keeps its runs after it, too. */
const LEASE_MS = 60_000;
const ANY = { raw: '1 = 1' };
const MANY = 500;
const NO_OWNER: RunOwner = { id: '', pid: 0, startedAt: '' };

/** A run that may be claimed, with the owner that it must still have then. */
interface Candidate {
  readonly id: string;
  readonly owner: string | null;
  readonly holder: string;
}

/** The queue of runs on a SQLite file. The processes share a machine, so pid and start time show which owners live. */
export function storedQueue(statements: Statements, clock: Clock): RunQueue {
  const runs = runTable(statements, 'runs');
  const leases = runTable(statements, 'leases');
  return {
    async claim(options) {
      const candidates = await candidatesOf(statements, options);
      if (candidates.length === 0) return [];
      const expiresAt = clock() + LEASE_MS;
      const written = await statements.write(
        candidates.flatMap((candidate) => claimStatements(statements, candidate, { ...options, expiresAt })),
      );
      return candidates.flatMap((candidate, at) => {
        const [, leased = [], claimed = []] = written.slice(STATEMENTS * at, STATEMENTS * (at + 1));
        return toClaimed(candidate, leased[0], claimed);
      });
    },
    async heartbeat(claimed) {
      const kept = new Set<string>();
      for (let at = 0; at < claimed.length; at += MANY) {
        const some = claimed.slice(at, at + MANY).map(({ lease }) => lease);
        const [renewed = []] = await statements.write([
          sql`UPDATE ${leases} SET expires_at = ${clock() + LEASE_MS}
            WHERE name IN ${valuesIn(some.map(({ name }) => name))}
              AND holder IN ${valuesIn(some.map(({ holder }) => holder))} RETURNING holder`,
        ]);
        for (const { holder } of renewed) kept.add(String(holder));
      }
      return claimed.flatMap(({ run, lease }) => (kept.has(lease.holder) ? [] : [run.id]));
    },
    async release({ run, lease }, wakeAt) {
      await statements.write([
        sql`UPDATE ${runs} SET owner = NULL, wake_at = ${wakeAt ?? null},
            due_at = CASE WHEN signal_last > signal_seen THEN 0
              ELSE COALESCE(${wakeAt ?? null}, CASE WHEN status = 'running' THEN 0 END) END
          WHERE id = ${run.id} AND ended_at IS NULL AND ${isHeld(statements, lease)}`,
        sql`DELETE FROM ${leases} WHERE name = ${lease.name} AND holder = ${lease.holder}`,
        countRunChange(statements),
      ]);
    },
    async unowned(options) {
      return (await candidatesOf(statements, { ...options, owner: NO_OWNER })).map(({ id }) => id);
    },
    async nextDue(origin) {
      const [row] = await statements.read(
        sql`SELECT min(due_at) AS due FROM ${runs} WHERE owner IS NULL AND due_at IS NOT NULL AND ${isOf(origin)}`,
      );
      return typeof row?.due === 'number' ? row.due : undefined;
    },
  };
}

/** Selects the runs that a process of this origin may execute. */
const isOf = (origin: RunOrigin | undefined): SqlStatement =>
  origin ? sql`(origin IS NULL OR origin = ${originText(origin)})` : sql`${ANY}`;

async function candidatesOf(
  statements: Statements,
  { owner, now, limit, only, interpreter, origin, isAlive }: ClaimOptions,
): Promise<readonly Candidate[]> {
  const runs = runTable(statements, 'runs');
  // Reads the index once per owner. DISTINCT would read it once per run.
  const owned = await statements.read(
    sql`WITH RECURSIVE owners (owner) AS (
        SELECT min(owner) FROM ${runs} WHERE owner IS NOT NULL
        UNION ALL SELECT (SELECT min(owner) FROM ${runs} WHERE owner > owners.owner) FROM owners WHERE owner IS NOT NULL)
      SELECT owner FROM owners WHERE owner IS NOT NULL`,
  );
  const isDead = (other: RunOwner) => other.id !== owner.id && !isAlive(other);
  const dead = owned.flatMap(({ owner: text }) => (isDead(JSON.parse(String(text)) as RunOwner) ? [String(text)] : []));
  const known = sql`${isOf(origin)} AND ${interpreter === undefined ? sql`${ANY}` : sql`interpreter <= ${interpreter}`}`;
  const wanted = only ? sql`${known} AND id IN ${valuesIn(only)}` : known;
  const select = (condition: SqlStatement) =>
    statements.read(
      sql`SELECT id, owner FROM ${runs} WHERE ended_at IS NULL AND ${wanted} AND ${condition} LIMIT ${limit}`,
    );
  const left = dead.length === 0 ? [] : await select(sql`owner IN ${valuesIn(dead)} ORDER BY started_at`);
  const isDue = only ? sql`${ANY}` : sql`due_at <= ${now}`;
  const due = await select(sql`owner IS NULL AND ${isDue} ORDER BY due_at, started_at`);
  return [...left, ...due]
    .slice(0, limit)
    .map(({ id, owner: text }) => ({ id: String(id), owner: text as string | null, holder: randomUUID() }));
}

const STATEMENTS = 3;

function claimStatements(
  statements: Statements,
  { id, owner, holder }: Candidate,
  options: ClaimOptions & { readonly expiresAt: number },
): readonly SqlStatement[] {
  const runs = runTable(statements, 'runs');
  const leases = runTable(statements, 'leases');
  const lease = { name: runLease(id), holder };
  const isDue = owner === null && !options.only ? sql`due_at <= ${options.now}` : sql`${ANY}`;
  return [
    nextEpoch(statements),
    // Another process may have claimed it since it was read.
    sql`INSERT INTO ${leases} (name, holder, epoch, expires_at)
      SELECT ${lease.name}, ${holder}, epoch, ${options.expiresAt} FROM ${runTable(statements, 'vault_state')}
      WHERE id = 1 AND EXISTS
        (SELECT 1 FROM ${runs} WHERE runs.id = ${id} AND owner IS ${owner} AND ended_at IS NULL AND ${isDue})
      ON CONFLICT (name) DO UPDATE
        SET holder = excluded.holder, epoch = excluded.epoch, expires_at = excluded.expires_at
      RETURNING epoch, expires_at`,
    sql`UPDATE ${runs} SET owner = ${JSON.stringify(options.owner)}, due_at = NULL
      WHERE id = ${id} AND ${isHeld(statements, lease)} RETURNING ${RUN_COLUMNS}`,
  ];
}

const isHeld = (statements: Statements, { name, holder }: Pick<Lease, 'name' | 'holder'>): SqlStatement =>
  sql`EXISTS (SELECT 1 FROM ${runTable(statements, 'leases')} WHERE name = ${name} AND holder = ${holder})`;

function toClaimed(
  { id, holder }: Candidate,
  lease: SqlRow | undefined,
  claimed: readonly SqlRow[],
): readonly ClaimedRun[] {
  if (!lease) return [];
  const { epoch, expires_at } = lease;
  return toRuns(claimed).map((run) => ({
    run,
    lease: { name: runLease(id), holder, epoch: Number(epoch), expiresAt: Number(expires_at) },
  }));
}
