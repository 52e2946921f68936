import type { ErrorCode } from '../../core/error-codes.ts';
import { storable } from '../rows.ts';
import type { FailureBook } from '../server-book.ts';
import { type Statements, sql } from '../statements.ts';

const KEPT_MS = 3_600_000;

/** Failed connections in the table `server_failures`. */
export function serverFailures(statements: Statements): FailureBook {
  const table = { raw: `${statements.schema}.server_failures` };
  return {
    async all() {
      const rows = await statements.read(sql`SELECT server, signature, at, code, message, fix FROM ${table}`);
      return rows.map(({ server, signature, at, code, message, fix }) => ({
        ...{ server: String(server), signature: String(signature), at: Number(at), code: String(code) as ErrorCode },
        ...{ message: String(message), fix: String(fix) },
      }));
    },
    async put({ server, signature, at, code, message, fix }) {
      await statements.write([
        sql`DELETE FROM ${table} WHERE at < ${at - KEPT_MS}`,
        sql`INSERT INTO ${table} (server, signature, at, code, message, fix)
          VALUES (${storable(server)}, ${storable(signature)}, ${at}, ${code}, ${storable(message)}, ${storable(fix)})
          ON CONFLICT (server, signature) DO UPDATE
            SET at = excluded.at, code = excluded.code, message = excluded.message, fix = excluded.fix`,
      ]);
    },
    async remove({ server, signature }) {
      await statements.write([
        sql`DELETE FROM ${table} WHERE server = ${storable(server)} AND signature = ${storable(signature)}`,
      ]);
    },
  };
}
