import type { Pool, PoolClient } from 'pg';

/** Runs `work` on one connection and commits. Throws with nothing written when it fails. */
export async function inTransaction(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await work(client);
    await client.query('COMMIT');
  } catch (cause) {
    // The state of this connection is unknown. Closing it is a rollback that cannot fail.
    client.release(true);
    throw cause;
  }
  client.release();
}
