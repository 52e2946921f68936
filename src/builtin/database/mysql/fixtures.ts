import { randomBytes } from 'node:crypto';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { createConnection } from 'mysql2/promise';
import type { ConnectionOptions, Database, StatementOptions } from '../database.ts';
import { openMysql } from './open-mysql.ts';

export const testMariadb = process.env.HEDDLE_TEST_MARIADB;

type Role = 'root' | 'reader' | 'writer';

/** An empty schema of the test's own on a real server, with users for reading and writing. */
export interface MysqlBench {
  readonly schema: string;
  readonly password: string;
  /** Runs SQL as root, outside of Heddle. */
  run(sql: string, params?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  url(role: Role): string;
  connection(role: Role, changes?: Partial<ConnectionOptions>): ConnectionOptions;
  /** Opens the schema through Heddle. The bench closes it. */
  open(role: Role, changes?: Partial<ConnectionOptions>): Promise<Database>;
  remove(): Promise<void>;
}

const DATA = 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, CREATE VIEW, TRIGGER, EXECUTE';

/** Creates a schema and its users. */
export async function mysqlBench(serverUrl = testMariadb ?? ''): Promise<MysqlBench> {
  const schema = `heddle_${randomBytes(5).toString('hex')}`;
  const password = randomBytes(9).toString('base64url');
  const root: Connection = await createConnection({ uri: serverUrl, multipleStatements: true });
  const users = { reader: `${schema}_r`, writer: `${schema}_w` };
  await root.query(`CREATE DATABASE ${schema} CHARACTER SET utf8mb4; USE ${schema}`);
  await root.query(`CREATE USER ${users.reader}@'%' IDENTIFIED BY '${password}';
    CREATE USER ${users.writer}@'%' IDENTIFIED BY '${password}';
    GRANT SELECT, SHOW VIEW, EXECUTE ON ${schema}.* TO ${users.reader}@'%';
    GRANT ${DATA} ON ${schema}.* TO ${users.writer}@'%'`);
  const opened: Database[] = [];
  const bench: MysqlBench = {
    schema,
    password,
    async run(sql, params = []) {
      const [rows] = await root.query<RowDataPacket[]>(sql, [...params]);
      return rows;
    },
    url(role) {
      const url = new URL(serverUrl);
      if (role !== 'root') Object.assign(url, { username: users[role], password });
      url.pathname = schema;
      return url.href;
    },
    connection: (role, changes = {}) => ({
      name: 'shop',
      type: 'mysql',
      url: bench.url(role),
      access: 'read',
      allowDdl: false,
      allowPrivilegedRole: role === 'root',
      allowFunctions: [],
      ...changes,
    }),
    async open(role, changes) {
      const database = await openMysql(bench.connection(role, changes), new AbortController().signal);
      opened.push(database);
      return database;
    },
    async remove() {
      await Promise.all(opened.map((database) => database.close()));
      await root.query(`DROP DATABASE ${schema}; DROP USER ${users.reader}@'%'; DROP USER ${users.writer}@'%'`);
      await root.end();
    },
  };
  return bench;
}

/** The limits of calls that no test wants to reach. */
export const runOptions = (changes: Partial<StatementOptions> = {}): StatementOptions => ({
  maxRows: 1000,
  maxBytes: 5 * 1024 * 1024,
  timeoutMs: 60_000,
  signal: new AbortController().signal,
  ...changes,
});
