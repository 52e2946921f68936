import type { Socket } from 'node:net';
import type { ClientConfig, Pool, PoolClient } from 'pg';
import { realTimer, type Timer } from '../../../core/time.ts';
import type { ConnectionOptions } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import type { Deadline } from '../deadline.ts';
import { isolatedClient } from './isolated-client.ts';
import { importDriver } from './load-driver.ts';
import { explainConnectError, isStatementError } from './postgres-failure.ts';

const POOL_SIZE = 4;
const IDLE_MS = 60_000;
const CANCEL_MS = 5_000;
/** A connection that is silent for this long outside of a statement is lost: a firewall may drop its packets. */
const SILENT_MS = 5_000;

/** The connections to one database. */
export interface PostgresPool {
  /** Takes a connection and begins a transaction. Only this is repeated, when an idle connection turns out to be dead. */
  begin(sql: string, deadline: Deadline): Promise<PoolClient>;
  /** Gives a connection back. State that statements left is removed first. */
  restore(client: PoolClient, transaction: 'open' | 'ended'): void;
  /** Closes a connection whose state is in doubt. */
  drop(client: PoolClient): void;
  /** Asks the server to cancel the statement that the connection runs. */
  cancel(client: PoolClient): void;
  end(): Promise<void>;
}

/** The parts of a client of `pg` that its types leave out. */
interface WireClient {
  readonly processID: number;
  readonly secretKey: number;
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean | object;
}

interface WireConnection {
  readonly stream: Socket;
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
  on(event: 'connect' | 'sslconnect' | 'error', listener: () => void): void;
}

/** Opens the pool. The first call connects. */
export async function openPostgresPool(options: ConnectionOptions, timer: Timer = realTimer): Promise<PostgresPool> {
  const { name } = options;
  const driver = await importDriver('pg', name, async () => (await import('pg')).default);
  const Client = isolatedClient(driver.Client, options);
  const pool = new driver.Pool({ max: POOL_SIZE, idleTimeoutMillis: IDLE_MS, allowExitOnIdle: true, Client });
  /** Connections that had a call before. One of them may be dead without a sign. */
  const used = new WeakSet<PoolClient>();
  // Without listeners the error of a lost connection would end the process. Calls notice the loss themselves.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  let isEnded = false;
  const send = (client: PoolClient, sql: string) => {
    const begun = used.has(client) ? unlessSilent(timer, client.query(sql)) : client.query(sql);
    used.add(client);
    return begun;
  };

  return {
    async begin(sql, deadline) {
      for (let attempt = 1; ; attempt++) {
        if (isEnded) throw new DatabaseFailure('CONNECTION_FAILED', `The connection "${name}" is closed. Call again.`);
        const client = await take(pool, deadline, name);
        const error = await deadline.race(send(client, sql)).then(none, identity);
        if (error === undefined) return client;
        client.release(true);
        const isFinal = isStatementError(error) || attempt > POOL_SIZE;
        if (deadline.failure() ?? isFinal) throw deadline.failure() ?? explainConnectError(error, name);
      }
    },
    restore(client, transaction) {
      const ended = transaction === 'ended' ? Promise.resolve() : client.query('ROLLBACK');
      unlessSilent(
        timer,
        ended.then(() => client.query('DISCARD ALL')),
      ).then(
        () => client.release(),
        () => client.release(true),
      );
    },
    drop: (client) => client.release(true),
    cancel(client) {
      const { processID, secretKey, host, port, ssl } = client as unknown as WireClient;
      const connection = new driver.Connection({ ssl } as ClientConfig) as unknown as WireConnection;
      const send = () => connection.cancel(processID, secretKey);
      connection.on('connect', ssl ? () => connection.requestSsl() : send);
      connection.on('sslconnect', send);
      // The call ends in time without the cancellation, and the server has a timeout of its own.
      connection.on('error', () => undefined);
      connection.stream.setTimeout(CANCEL_MS, () => connection.stream.destroy()).unref();
      if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
      else connection.connect(port, host);
    },
    async end() {
      if (isEnded) return;
      isEnded = true;
      await pool.end();
    },
  };
}

/** Waits for a promise, and rejects if it has not settled in time. */
function unlessSilent<T>(timer: Timer, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = timer(SILENT_MS, () => reject(new Error('The connection is silent.')));
    promise.then(resolve, reject).finally(stop);
  });
}

const none = (): undefined => undefined;
const identity = (error: unknown): unknown => error;

/** Takes a connection from the pool. One that arrives after the deadline goes back at once. */
async function take(pool: Pool, deadline: Deadline, name: string): Promise<PoolClient> {
  const arriving = pool.connect();
  try {
    return await deadline.race(arriving);
  } catch (error) {
    const failure = deadline.failure();
    if (!failure) throw explainConnectError(error, name);
    arriving.then(
      (client) => client.release(),
      () => undefined,
    );
    if (failure.code !== 'TIMED_OUT') throw failure;
    const text = `No connection of "${name}" was free within ${deadline.timeoutMs} ms. Try again later.`;
    throw new DatabaseFailure('TIMED_OUT', text);
  }
}
