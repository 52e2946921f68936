import type { Pool, PoolConfig } from 'pg';
import { HeddleError } from '../../core/errors.ts';

const CONNECT_MS = 5_000;
/** Ends a query whose server has stopped responding. */
const ANSWER_MS = 30_000;

/** Ends the transaction of a process that was stopped in it: its locks would stop all others. */
const IDLE_TRANSACTION_MS = 5_000;

/** Opens a connection pool. Loads the driver on use. */
export async function openPool(connectionString: string, more: PoolConfig = {}): Promise<Pool> {
  const { Pool } = await import('pg').catch((cause) => {
    throw new HeddleError('DRIVER_MISSING', 'A store on Postgres needs the package `pg`, which is not installed.', {
      cause,
    });
  });
  const pool = new Pool({
    ...{ connectionString, connectionTimeoutMillis: CONNECT_MS, query_timeout: ANSWER_MS },
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    ...more,
  });
  // An idle connection that drops is replaced at the next query. Without a listener its error would end the process.
  pool.on('error', () => undefined);
  // The same holds for one in use between two queries. The next query fails.
  pool.on('connect', (client) => void client.on('error', () => undefined));
  return pool;
}
