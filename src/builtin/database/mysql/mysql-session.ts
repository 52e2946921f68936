import type { Connection, FieldPacket, PrepareStatementInfo, QueryError, ResultSetHeader } from 'mysql2';
import type { Json } from '../../../core/call.ts';
import type { Column, Statement } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import type { MysqlDriver } from './load-mysql.ts';
import type { MysqlAddress } from './mysql-address.ts';
import { mysqlErrorNumber } from './mysql-failure.ts';
import { mysqlColumn, mysqlDecoder } from './mysql-values.ts';

/** The limits of a result. */
export interface RowLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
  /** True ends at the limit and leaves the connection unusable; false reads all rows and keeps those within the limits. */
  readonly endsAtLimit: boolean;
  /** True sends a statement that cannot be prepared as text. */
  readonly allowsText: boolean;
}

/** The answer to one statement. */
export interface MysqlAnswer {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Json[])[];
  readonly truncated: boolean;
  /** Rows that the server sent, or said that it changed. */
  readonly count: number;
  readonly hasRows: boolean;
}

type RowEvents = ReturnType<PrepareStatementInfo['execute']>;

const UNSUPPORTED = 1295;

/** An open connection to a server. */
export class MysqlSession {
  /** The id for KILL. */
  readonly id: number;
  /** The last SET that was run since the connection was opened or reset. */
  settings: string | undefined;
  readonly #connection: Connection;
  readonly #driver: MysqlDriver;
  readonly #lost = Promise.withResolvers<never>();
  #isLost = false;

  private constructor(connection: Connection, driver: MysqlDriver) {
    this.#connection = connection;
    this.#driver = driver;
    this.id = connection.threadId;
    this.#lost.promise.catch(() => {}); // Only calls that wait for an answer report it.
    const lose = (error?: unknown) => this.#lose(error ?? new Error('The connection was closed.'));
    connection.on('error', lose);
    connection.on('end', () => lose());
  }

  /** Opens a connection and signs in. */
  static async open(driver: MysqlDriver, address: MysqlAddress, signal: AbortSignal): Promise<MysqlSession> {
    signal.throwIfAborted();
    const connection = driver.connect(address);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancel = () => reject(signal.reason);
    signal.addEventListener('abort', cancel, { once: true });
    connection.on('error', reject);
    connection.connect((error) => (error ? reject(error) : resolve()));
    try {
      await promise;
      return new MysqlSession(connection, driver);
    } catch (error) {
      cut(connection);
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Runs a statement of Heddle's own, without values. */
  run(sql: string): Promise<unknown> {
    return this.#answer<unknown>((done) => this.#connection.query(sql, (error, result) => done(error, result)));
  }

  /** Prepares and runs a statement. Throws INPUT_INVALID if the count of values is not that of its parameters. */
  async execute({ sql, params }: Statement, limits: RowLimits): Promise<MysqlAnswer> {
    const prepared = await this.#prepare(sql, limits.allowsText && params.length === 0);
    if (!prepared) return this.#collect(this.#connection.query(sql) as unknown as RowEvents, limits);
    const { length } = (prepared as unknown as { readonly parameters: readonly unknown[] }).parameters;
    if (length !== params.length) throw wrongCount(length, params.length);
    return this.#collect(prepared.execute(params.map(this.#driver.toParameter)), limits);
  }

  /** Ends the transaction, and removes variables, locks, temporary tables and prepared statements. */
  reset(): Promise<unknown> {
    this.settings = undefined;
    return this.#answer<unknown>((done) => this.#connection.reset((error) => done(error, undefined)));
  }

  /** Cuts the connection at once. Calls that wait for an answer fail. */
  destroy(): void {
    cut(this.#connection);
    this.#lose(new Error('The connection was closed.'));
  }

  /** Prepares a statement; undefined if the server cannot and the statement may be sent as text. */
  async #prepare(sql: string, allowsText: boolean): Promise<PrepareStatementInfo | undefined> {
    try {
      return await this.#answer<PrepareStatementInfo>((done) => this.#connection.prepare(sql, done));
    } catch (error) {
      if (allowsText && mysqlErrorNumber(error) === UNSUPPORTED) return undefined;
      throw error;
    }
  }

  #answer<T>(send: (done: (error: QueryError | null, result: T) => void) => void): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    send((error, result) => {
      if (error?.fatal) this.#lose(error);
      if (error) reject(error);
      else resolve(result);
    });
    return Promise.race([promise, this.#lost.promise]);
  }

  #collect(events: RowEvents, limits: RowLimits): Promise<MysqlAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<MysqlAnswer>();
    const collector = rowCollector(limits);
    events.on('fields', (fields: unknown) => collector.start(fields as readonly FieldPacket[] | undefined));
    events.on('result', (row: unknown) => {
      if (!collector.add(row as readonly unknown[] | ResultSetHeader)) resolve(collector.answer());
    });
    events.on('error', reject);
    events.on('end', () => resolve(collector.answer()));
    return Promise.race([promise, this.#lost.promise]);
  }

  #lose(error: unknown): void {
    this.#isLost = true;
    this.#lost.reject(error);
  }
}

/** The driver closes sockets in order, and waits for the server. This does not. */
function cut(connection: Connection): void {
  connection.on('error', () => {});
  connection.destroy();
  (connection as unknown as { readonly stream: { destroy(): void } }).stream.destroy();
}

const wrongCount = (expected: number, given: number): DatabaseFailure =>
  new DatabaseFailure(
    'INPUT_INVALID',
    `The statement has ${expected} parameters, and params has ${given} values. Send ${expected}.`,
  );

function rowCollector({ maxRows, maxBytes, endsAtLimit }: RowLimits) {
  let columns: readonly Column[] = [];
  let decoders: readonly ((value: unknown) => Json)[] | undefined;
  const rows: (readonly Json[])[] = [];
  let truncated = false;
  let bytes = 0;
  let count = 0;
  return {
    start(fields: readonly FieldPacket[] | undefined): void {
      if (!fields) return;
      columns = fields.map(mysqlColumn);
      decoders = fields.map(mysqlDecoder);
    },
    /** Adds a row. Returns false if no further row is needed. */
    add(row: readonly unknown[] | ResultSetHeader): boolean {
      if (!decoders) {
        count = (row as ResultSetHeader).affectedRows ?? 0;
        return true;
      }
      count++;
      if (truncated) return !endsAtLimit;
      const values = decoders.map((decode, at) => decode((row as readonly unknown[])[at]));
      bytes += sizeOf(values);
      truncated = rows.length >= maxRows || bytes > maxBytes;
      if (!truncated) rows.push(values);
      return !(truncated && endsAtLimit);
    },
    answer: (): MysqlAnswer => ({ columns, rows, truncated, count, hasRows: decoders !== undefined }),
  };
}

/** Returns about the bytes of a row in JSON. */
const sizeOf = (values: readonly Json[]): number =>
  values.reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? Buffer.byteLength(value) + 3 : sizeOfOther(value)),
    2,
  );

const sizeOfOther = (value: Json): number =>
  typeof value === 'object' && value !== null ? JSON.stringify(value).length : 8;
