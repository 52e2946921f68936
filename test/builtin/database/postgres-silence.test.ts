import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { ConnectionOptions } from '../../../src/builtin/database/database.ts';
import { type Deadline, startDeadline } from '../../../src/builtin/database/deadline.ts';
import { openPostgresPool, type PostgresPool } from '../../../src/builtin/database/postgres/postgres-pool.ts';
import { runAndCommit, runReadOnly } from '../../../src/builtin/database/postgres/transaction.ts';
import type { Timer } from '../../../src/core/time.ts';
import { verifies } from '../../requirements.ts';
import { until } from '../../until.ts';
import { createPostgresFixture, type PostgresFixture, testPostgresServer } from './postgres-fixture.ts';

const never = new AbortController().signal;

/** A proxy that forwards nothing more of a connection after a request with the given text, as a firewall does. */
class SilencingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  silencedBy: string | undefined;
  silenced = 0;

  constructor(port: number) {
    this.#server = createServer((client) => {
      const upstream = connect(port, '127.0.0.1');
      let isSilent = false;
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
      }
      client.on('data', (chunk) => {
        if (!isSilent && this.silencedBy !== undefined && chunk.includes(this.silencedBy)) {
          isSilent = true;
          this.silenced++;
        }
        if (!isSilent) upstream.write(chunk);
      });
      upstream.on('data', (chunk) => isSilent || client.write(chunk));
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => isSilent || client.destroy());
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as { port: number }).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A timer that fires when the test says so. */
function manualTimer(): { readonly timer: Timer; readonly fire: () => void; readonly pending: ReadonlySet<unknown> } {
  const pending = new Set<() => void>();
  const timer: Timer = (_delayMs, callback) => {
    pending.add(callback);
    return () => pending.delete(callback);
  };
  return { timer, pending, fire: () => [...pending].forEach((callback) => void callback()) };
}

describe.skipIf(!testPostgresServer)('a Postgres pool', () => {
  let fixture: PostgresFixture;
  let proxy: SilencingProxy;
  let connection: ConnectionOptions;

  beforeAll(async () => {
    fixture = await createPostgresFixture();
    const url = new URL(fixture.connection('writer').url ?? '');
    proxy = new SilencingProxy(Number(url.port));
    url.port = String(await proxy.listen());
    connection = fixture.connection('writer', { url: url.href });
  });

  afterAll(async () => {
    await proxy?.close();
    await fixture?.remove();
  });

  async function withDeadline<T>(work: (deadline: Deadline) => Promise<T>, signal = never): Promise<T> {
    const deadline = startDeadline({ timeoutMs: 120_000, signal });
    try {
      return await work(deadline);
    } finally {
      deadline.clear();
    }
  }
  const begin = (pool: PostgresPool) => withDeadline((deadline) => pool.begin('BEGIN', deadline));
  const isConnected = async (pid: number) =>
    (await fixture.admin.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).rows.length > 0;

  verifies('B2', 'replaces connections that go silent while they are given back, and closes', async () => {
    const { timer, fire, pending } = manualTimer();
    const pool = await openPostgresPool(connection, timer);
    const clients = await Promise.all([1, 2, 3, 4].map(() => begin(pool)));
    proxy.silencedBy = 'ROLLBACK';
    for (const client of clients) pool.restore(client, 'open');
    await until('all are silent', () => proxy.silenced === 4);
    proxy.silencedBy = undefined;
    fire();
    const client = await begin(pool);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    pool.restore(client, 'open');
    await pool.end();
    expect(pending.size).toBe(0);
  });

  verifies('B2', 'begins on another connection when an idle one is silent', async () => {
    const { timer, fire, pending } = manualTimer();
    const pool = await openPostgresPool(connection, timer);
    pool.restore(await begin(pool), 'open');
    await until('it is given back', () => pending.size === 0);
    proxy.silenced = 0;
    proxy.silencedBy = 'BEGIN';
    const begun = begin(pool);
    await until('it is silent', () => proxy.silenced === 1);
    proxy.silencedBy = undefined;
    fire();
    const client = await begun;
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    pool.restore(client, 'open');
    await pool.end();
  });

  for (const [name, run, outcome] of [
    ['read', runReadOnly, 'resolves'],
    ['write', runAndCommit, 'rejects'],
  ] as const) {
    verifies('B2', `closes the connection of a ${name} that ends after its cancellation was sent`, async () => {
      const pool = await openPostgresPool(connection);
      const abort = new AbortController();
      let pid = 0;
      const call = withDeadline((deadline) => {
        const scope = { pool, connection, deadline, sent: { prefix: '', sql: '' } };
        return run(scope, async ({ client }) => {
          pid = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0;
          abort.abort();
          return 'done';
        });
      }, abort.signal);
      if (outcome === 'resolves') expect(await call).toBe('done');
      else await expect(call).rejects.toMatchObject({ code: 'CANCELLED' });
      expect(pid).toBeGreaterThan(0);
      await until('the connection is closed', async () => !(await isConnected(pid)));
      await pool.end();
    });
  }
});
