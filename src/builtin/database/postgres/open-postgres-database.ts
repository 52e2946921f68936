import type { OpenDatabase } from '../database.ts';
import { startDeadline } from '../deadline.ts';
import { checkRole } from './check-role.ts';
import { importDriver } from './load-driver.ts';
import { postgresDatabase } from './postgres-database.ts';
import { openPostgresPool } from './postgres-pool.ts';
import { runReadOnly } from './transaction.ts';

const OPEN_MS = 15_000;

/** Opens a Postgres database and checks its role. */
export const openPostgresDatabase: OpenDatabase = async (connection, signal) => {
  const { default: CursorClass } = await importDriver('pg-cursor', connection.name, () => import('pg-cursor'));
  const pool = await openPostgresPool(connection);
  const deadline = startDeadline({ timeoutMs: OPEN_MS, signal });
  try {
    const scope = { pool, connection, deadline, sent: { prefix: '', sql: '' } };
    const warnings = await runReadOnly(scope, ({ client }) => checkRole(client, connection));
    return postgresDatabase({ connection, pool, CursorClass }, warnings);
  } catch (error) {
    await pool.end();
    throw error;
  } finally {
    deadline.clear();
  }
};
