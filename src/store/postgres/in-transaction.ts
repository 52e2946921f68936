import type { Pool, PoolClient } from 'pg';

/** Runs `work` on one connection and commits, or throws with nothing of it kept. */
export async function inTransaction(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await work(client);
    await client.query('COMMIT');
  } catch (cause) {
    // The state of this connection is unknown: dropping it is a rollback that cannot fail.
    client.release(true);
    throw cause;
  }
  client.release();
}
