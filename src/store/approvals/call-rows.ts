import { storable } from '../rows.ts';
import { type RawSql, type SqlStatement, type Statements, sql } from '../statements.ts';
import { approvalTable, countChange, IS_OPEN } from './approval-tables.ts';
import type { ApprovalCall, CallBook, IssuedProof } from './call-book.ts';

const DURABLE = { durable: true };
const DAY_MS = 86_400_000;
const KEEP_MS = 30 * DAY_MS;

/** Calls with approvals in the table `approval_calls`. */
export function callBook(statements: Statements): CallBook {
  const table = approvalTable(statements, 'approval_calls');
  const approvals = approvalTable(statements, 'approvals');
  const forget = (at: number) => forgetBefore({ table, approvals, at });
  return {
    async join(call, at) {
      const { principal, callId, approval } = stored(call);
      const [, , joined = []] = await statements.write(
        [
          // Locks the approvals, so that none is withdrawn between the check and the commit.
          countChange(statements),
          forget(at),
          sql`INSERT INTO ${table} (principal, call_id, approval, at, is_cancelled)
            SELECT CAST(${principal} AS TEXT), CAST(${callId} AS TEXT), id, CAST(${at} AS DOUBLE PRECISION), 0
            FROM ${approvals} WHERE id = ${approval} AND ${IS_OPEN}
            ON CONFLICT (principal, call_id, approval) DO UPDATE SET at = excluded.at RETURNING approval`,
        ],
        DURABLE,
      );
      return joined.length > 0;
    },
    async find(principal, callId) {
      const rows = await statements.read(
        sql`SELECT approval, is_cancelled FROM ${table}
          WHERE principal = ${storable(principal)} AND call_id = ${storable(callId)} ORDER BY at DESC, approval LIMIT 1`,
      );
      return rows.map(({ approval, is_cancelled }) => ({
        approval: String(approval),
        isCancelled: Number(is_cancelled) === 1,
      }))[0];
    },
    async cancel(principal, callId) {
      const [, cancelled = []] = await statements.write(
        [
          countChange(statements),
          sql`UPDATE ${table} SET is_cancelled = 1
            WHERE principal = ${storable(principal)} AND call_id = ${storable(callId)} RETURNING approval`,
        ],
        DURABLE,
      );
      return cancelled.map(({ approval }) => String(approval));
    },
    async isAwaited(approval) {
      const rows = await statements.read(sql`SELECT 1 AS one WHERE ${awaited(table)} = ${storable(approval)})`);
      return rows.length > 0;
    },
    async issue(proof, at) {
      const { principal, callId, approval, digest, nonce } = storedProof(proof);
      await statements.write(
        [
          forget(at),
          sql`INSERT INTO ${table} (principal, call_id, approval, at, is_cancelled, digest, nonce)
            VALUES (${principal}, ${callId}, ${approval}, ${at}, 0, ${digest}, ${nonce})
            ON CONFLICT (principal, call_id, approval)
            DO UPDATE SET at = excluded.at, digest = excluded.digest, nonce = excluded.nonce`,
        ],
        DURABLE,
      );
    },
    async isIssued(proof) {
      const rows = await statements.read(matching(sql`SELECT nonce FROM ${table}`, proof));
      return rows.length > 0;
    },
    async use(proof) {
      const used = matching(sql`UPDATE ${table} SET nonce = NULL`, proof);
      const [rows = []] = await statements.write([{ ...used, sql: `${used.sql} RETURNING approval` }], DURABLE);
      return rows.length > 0;
    },
  };
}

/** Returns the condition that a call waits for an approval. The id of the approval and a parenthesis follow. */
const awaited = ({ raw }: RawSql): RawSql => ({
  raw: `EXISTS (SELECT 1 FROM ${raw} WHERE is_cancelled = 0 AND approval`,
});

/** Returns the condition that no call waits for the approval of an `UPDATE` on the table of approvals. */
export function notAwaited(statements: Statements): RawSql {
  const { raw: approvals } = approvalTable(statements, 'approvals');
  return { raw: `NOT ${awaited(approvalTable(statements, 'approval_calls')).raw} = ${approvals}.id)` };
}

interface ForgetOptions {
  readonly table: RawSql;
  readonly approvals: RawSql;
  readonly at: number;
}

/** Removes old rows. One of a call that waited for a settled approval tells nothing after a day. */
const forgetBefore = ({ table, approvals, at }: ForgetOptions): SqlStatement =>
  sql`DELETE FROM ${table} WHERE at < ${at - KEEP_MS} OR (at < ${at - DAY_MS} AND nonce IS NULL AND is_cancelled = 0
    AND NOT EXISTS (SELECT 1 FROM ${approvals} WHERE id = ${table}.approval AND ${IS_OPEN}))`;

function matching(start: SqlStatement, proof: IssuedProof): SqlStatement {
  const { principal, callId, approval, digest, nonce } = storedProof(proof);
  const condition = sql` WHERE principal = ${principal} AND call_id = ${callId} AND approval = ${approval}
    AND digest = ${digest} AND nonce = ${nonce}`;
  return { sql: start.sql + condition.sql, values: [...start.values, ...condition.values] };
}

const stored = ({ principal, callId, approval }: ApprovalCall): ApprovalCall => ({
  principal: storable(principal),
  callId: storable(callId),
  approval: storable(approval),
});

const storedProof = (proof: IssuedProof): IssuedProof => ({
  ...stored(proof),
  digest: storable(proof.digest),
  nonce: storable(proof.nonce),
});
