import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { testPostgres } from '../fixtures.ts';
import { openPool } from './open-pool.ts';

describe.skipIf(!testPostgres)('a connection in use', () => {
  verifies('F9', 'that the server ends between two queries fails the next one, not the process', async () => {
    const pool = await openPool(testPostgres ?? '', { max: 2 });
    const client = await pool.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const ended = new Promise((resolve) => client.once('end', resolve));
    await pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    await ended;
    await expect(client.query('SELECT 1')).rejects.toThrow();
    client.release(true);
    await pool.end();
  });
});
