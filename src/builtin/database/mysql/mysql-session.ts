import type { Socket } from 'node:net';
import type { Connection, FieldPacket, PrepareStatementInfo, QueryError, ResultSetHeader } from 'mysql2';
import type { Json } from '../../../core/call.ts';
import type { Column, Statement } from '../database.ts';
import { DatabaseFailure, wrongParamCount } from '../database-failure.ts';
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
/** The longest answer without rows: the columns of a result, or an answer to Heddle's own statements. */
const MAX_OTHER_BYTES = 16 * 1024 ** 2;
/** Bytes of a row that its values do not count, and of the row after it. */
const ROW_MARGIN_BYTES = 64 * 1024;

/** An open connection to a server. */
export class MysqlSession {
  /** The id for KILL. */
  readonly id: number;
  /** The last SET that was run since the connection was opened or reset. */
  settings: string | undefined;
  readonly #connection: Connection;
  readonly #driver: MysqlDriver;
  /** Rejects the calls that wait for an answer. A promise of the loss would keep every answer until then. */
  readonly #waiting = new Set<(error: unknown) => void>();
  #loss: unknown;
  /** Bytes since the last row, or since the statement was sent. */
  #received = 0;
  #maxReceived = MAX_OTHER_BYTES;
  #excess: unknown;

  private constructor(connection: Connection, driver: MysqlDriver) {
    this.#connection = connection;
    this.#driver = driver;
    this.id = connection.threadId;
    const lose = (error?: unknown) => this.#lose(error ?? new Error('The connection was closed.'));
    connection.on('error', lose);
    connection.on('end', () => lose());
    // Before the driver's own listener, which puts a whole row together whatever its length.
    streamOf(connection).prependListener('data', (chunk) => this.#count(chunk.length));
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
    return this.#loss !== undefined;
  }

  /** Runs a statement of Heddle's own, without values. */
  run(sql: string): Promise<unknown> {
    return this.#answer<unknown>((done) => this.#connection.query(sql, (error, result) => done(error, result)));
  }

  /** Prepares and runs a statement. Throws INPUT_INVALID if the count of values is not that of its parameters. */
  async execute({ sql, params }: Statement, limits: RowLimits): Promise<MysqlAnswer> {
    const prepared = await this.#prepare(sql, limits.allowsText && params.length === 0);
    if (!prepared) return this.#collect(() => this.#connection.query(sql) as unknown as RowEvents, limits);
    const { length } = (prepared as unknown as { readonly parameters: readonly unknown[] }).parameters;
    if (length !== params.length) throw wrongParamCount(length, params.length);
    return this.#collect(() => prepared.execute(params.map(this.#driver.toParameter)), limits);
  }

  /** Ends the transaction, and removes variables, locks, temporary tables and prepared statements. */
  reset(): Promise<unknown> {
    this.settings = undefined;
    return this.#answer<unknown>((done) => this.#connection.reset((error) => done(error, undefined)));
  }

  /** Cuts the connection at once. Calls that wait for an answer fail. */
  destroy(): void {
    this.#end(new Error('The connection was closed.'));
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
    return this.#wait<T>((resolve, reject) =>
      send((error, result) => {
        if (error?.fatal) this.#lose(error);
        if (error) reject(error);
        else resolve(result);
      }),
    );
  }

  async #collect(send: () => RowEvents, limits: RowLimits): Promise<MysqlAnswer> {
    const collector = rowCollector(limits);
    const tooLarge = rowTooLarge(limits.maxBytes);
    try {
      return await this.#wait<MysqlAnswer>((resolve, reject) => {
        const events = send();
        events.on('fields', (fields: unknown) => {
          collector.start(fields as readonly FieldPacket[] | undefined);
          this.#limit(limits.maxBytes + ROW_MARGIN_BYTES, tooLarge);
        });
        events.on('result', (row: unknown) => {
          this.#received = 0;
          if (collector.add(row as readonly unknown[] | ResultSetHeader)) return;
          const answer = collector.answer();
          if (answer.rows.length > 0) resolve(answer);
          else this.#end(tooLarge);
        });
        events.on('error', reject);
        events.on('end', () => resolve(collector.answer()));
      });
    } catch (error) {
      const answer = collector.answer();
      if (error === tooLarge && limits.endsAtLimit && answer.rows.length > 0) return { ...answer, truncated: true };
      throw error;
    }
  }

  /** Waits for an answer or the loss of the connection. */
  async #wait<T>(start: (resolve: (value: T) => void, reject: (error: unknown) => void) => void): Promise<T> {
    if (this.isLost) throw this.#loss;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.add(reject);
    this.#limit(MAX_OTHER_BYTES, new Error('The answer of the server is too long.'));
    try {
      start(resolve, reject);
      return await promise;
    } finally {
      this.#waiting.delete(reject);
    }
  }

  #limit(maxReceived: number, excess: unknown): void {
    this.#received = 0;
    this.#maxReceived = maxReceived;
    this.#excess = excess;
  }

  #count(bytes: number): void {
    this.#received += bytes;
    if (this.#received > this.#maxReceived) this.#end(this.#excess);
  }

  /** Cuts the connection. Calls that wait for an answer fail with this error. */
  #end(error: unknown): void {
    cut(this.#connection);
    this.#lose(error);
  }

  #lose(error: unknown): void {
    this.#loss ??= error;
    for (const reject of this.#waiting) reject(error);
  }
}

const rowTooLarge = (maxBytes: number): DatabaseFailure =>
  new DatabaseFailure(
    'STATEMENT_FAILED',
    `A row has more than ${maxBytes} bytes. Select fewer columns, or a part of the value.`,
  );

/** Returns the socket of a connection, after TLS has begun. */
const streamOf = (connection: Connection): Socket => (connection as unknown as { readonly stream: Socket }).stream;

/** The driver closes sockets in order, and waits for the server. This does not. */
function cut(connection: Connection): void {
  connection.on('error', () => {});
  connection.destroy();
  streamOf(connection).destroy();
}

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
