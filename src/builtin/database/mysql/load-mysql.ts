import type { Connection, ConnectionOptions as DriverOptions } from 'mysql2';
import type { Json } from '../../../core/call.ts';
import { DatabaseFailure } from '../database-failure.ts';
import type { MysqlAddress } from './mysql-address.ts';

/** The parts of the package `mysql2` that are used. */
export interface MysqlDriver {
  connect(address: MysqlAddress): Connection;
  /** Converts a value of `params` for the binary protocol. */
  toParameter(value: Json): unknown;
}

const CONNECT_MS = 10_000;

/** Imports `mysql2`. Throws DRIVER_MISSING, which names the package and the connection, if it is not installed. */
export async function loadMysql(
  connection: string,
  load: () => Promise<unknown> = () => import('mysql2'),
): Promise<MysqlDriver> {
  let mysql: typeof import('mysql2');
  try {
    mysql = ((await load()) as { readonly default: typeof import('mysql2') }).default;
  } catch (cause) {
    const text = `The connection "${connection}" needs the package mysql2, which cannot be loaded. Run \`npm install mysql2\`.`;
    throw new DatabaseFailure('DRIVER_MISSING', text, { cause });
  }
  return {
    connect: (address) => mysql.createConnection(driverOptions(address)),
    toParameter(value) {
      if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
      // A double would not be accepted by LIMIT.
      if (Number.isSafeInteger(value)) return mysql.TypedParameter.LONGLONG(value as number);
      return typeof value === 'number' ? value : JSON.stringify(value);
    },
  };
}

function driverOptions({ host, port, user, password, database, ssl }: MysqlAddress): DriverOptions {
  return {
    host,
    port,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    // Without verifyIdentity the driver accepts a certificate of any name.
    ...(ssl && { ssl: { rejectUnauthorized: true, verifyIdentity: true } }),
    charset: 'utf8mb4',
    connectTimeout: CONNECT_MS,
    // FOUND_ROWS: affected rows are matched rows. No files of this machine are sent to the server.
    flags: ['FOUND_ROWS', '-LOCAL_FILES'],
    multipleStatements: false,
    // Without it the driver compiles code from names of columns.
    disableEval: true,
    rowsAsArray: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    jsonStrings: true,
    typeCast: (field, next) =>
      field.type === 'GEOMETRY' || (field.type as string) === 'VECTOR' ? field.buffer() : next(),
  };
}
