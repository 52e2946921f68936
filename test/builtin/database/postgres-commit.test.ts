import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Database } from '../../../src/builtin/database/database.ts';
import type { DatabaseFailure } from '../../../src/builtin/database/database-failure.ts';
import { openPostgresDatabase } from '../../../src/builtin/database/postgres/open-postgres-database.ts';
import { MEASURES } from '../../limits.ts';
import { verifies } from '../../requirements.ts';
import { until } from '../../until.ts';
import { createPostgresFixture, type PostgresFixture, runOptions, testPostgresServer } from './postgres-fixture.ts';

const never = new AbortController().signal;
const MOMENTS = MEASURES ? 1_000 : 100;

/** A place in the traffic at which the proxy cuts the connection, once. */
interface Cut {
  readonly side: 'request' | 'response';
  /** The chunk, counted on its side from the start of the call; `commit` is the chunk with COMMIT or the next response. */
  readonly chunk: number | 'commit';
  /** The part of the chunk that is still forwarded. */
  readonly part: number;
}

/** A proxy to the server that cuts connections. */
class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut: Cut | undefined;
  #chunks = { request: 0, response: 0 };
  #isCommitSent = false;

  constructor(port: number) {
    this.#server = createServer((client) => {
      const upstream = connect(port, '127.0.0.1');
      this.#forward('request', client, upstream);
      this.#forward('response', upstream, client);
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as { port: number }).port;
  }

  arm(cut: Cut): void {
    this.#cut = cut;
    this.#chunks = { request: 0, response: 0 };
    this.#isCommitSent = false;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(side: Cut['side'], from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    from.on('data', (chunk: Buffer) => {
      const cut = this.#cut;
      if (!cut || !this.#isMoment(cut, side, chunk)) {
        to.write(chunk);
        return;
      }
      this.#cut = undefined;
      to.write(chunk.subarray(0, Math.round(chunk.length * cut.part)), () => {
        from.destroy();
        to.end();
      });
    });
  }

  #isMoment({ side, chunk: at }: Cut, passing: Cut['side'], chunk: Buffer): boolean {
    const isCommit = passing === 'request' && chunk.includes('COMMIT');
    const isAfterCommit = passing === 'response' && this.#isCommitSent;
    if (isCommit) this.#isCommitSent = true;
    const index = this.#chunks[passing]++;
    if (passing !== side) return false;
    return at === 'commit' ? isCommit || isAfterCommit : index === at;
  }
}

describe.skipIf(!testPostgresServer)('db_execute on Postgres through a connection that is cut', () => {
  let fixture: PostgresFixture;
  let proxy: CuttingProxy;
  let database: Database;

  beforeAll(async () => {
    fixture = await createPostgresFixture();
    await fixture.admin.query(
      'CREATE TABLE counter (n int); INSERT INTO counter VALUES (0); GRANT ALL ON counter TO PUBLIC',
    );
    const url = new URL(fixture.connection('writer').url ?? '');
    proxy = new CuttingProxy(Number(url.port));
    url.port = String(await proxy.listen());
    database = await openPostgresDatabase(fixture.connection('writer', { url: url.href }), never);
  });

  afterAll(async () => {
    await database?.close();
    await proxy?.close();
    await fixture?.remove();
  });

  const countNow = async () => (await fixture.admin.query('SELECT n FROM counter')).rows[0].n as number;
  const openTransactions = async () => {
    const sql = `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND usename LIKE '%\\_writer' AND state <> 'idle'`;
    return (await fixture.admin.query(sql)).rows[0].count as number;
  };

  verifies('B2', 'success adds one, a known error none, never two', async () => {
    const random = seeded(42);
    const seen = { ok: 0, failed: 0, unknown: 0 };
    for (let moment = 0; moment < MOMENTS; moment++) {
      const before = await countNow();
      const side = random() < 0.5 ? 'request' : 'response';
      const chunk = moment % 2 === 0 ? 'commit' : Math.floor(random() * 6);
      proxy.arm({ side, chunk, part: random() < 0.3 ? 1 : random() });
      const outcome = await database.execute({ sql: 'UPDATE counter SET n = n + 1', params: [] }, runOptions()).then(
        () => 'ok' as const,
        ({ code }: DatabaseFailure) => (code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed'),
      );
      seen[outcome]++;
      await until('no transaction is open', async () => (await openTransactions()) === 0);
      const added = (await countNow()) - before;
      const allowed = { ok: [1], failed: [0], unknown: [0, 1] }[outcome];
      expect(allowed, `${outcome} after a cut of ${side} ${chunk}`).toContain(added);
    }
    // Each kind of outcome has been met.
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(0);
  });
});

/** Returns numbers from 0 to 1 that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
