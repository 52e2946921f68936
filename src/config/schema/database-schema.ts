import * as z from 'zod';
import { DATABASE_SCHEMES, isDatabaseHost, readDatabaseUrl } from '../../core/text/database-url.ts';
import { SETTING_DEFAULTS } from './defaults.ts';

const DATABASE = SETTING_DEFAULTS.builtins.database;
/** The fields that `url` replaces. */
const PARTS = ['host', 'port', 'database', 'username', 'password'] as const;

/** The form of the name of a connection. */
export const CONNECTION_NAME = /^[A-Za-z0-9_-]{1,64}$/;

const fields = z.strictObject({
  name: z
    .string()
    .regex(CONNECTION_NAME, 'must be 1 to 64 letters, digits, `-` and `_`')
    .describe('Name of the connection. Clients see it.'),
  type: z.enum(['postgres', 'mysql', 'sqlite']).describe('`mysql` is also for MariaDB.'),
  url: z
    .string()
    .min(1)
    .exactOptional()
    .describe(
      '`postgres://…` or `mysql://…`, instead of the fields below. Its only parameters are `sslmode` and `ssl`.',
    ),
  host: z
    .string()
    .refine(isDatabaseHost, 'must be a name, an IP address or the folder of a socket')
    .exactOptional()
    .describe('Host of the database, or the folder of its socket.'),
  port: z.int().min(1).max(65535).exactOptional().describe('Port of the database.'),
  database: z
    .string()
    .min(1)
    .exactOptional()
    .describe('Name of the database. For `sqlite`, the path of its file, relative to the project folder.'),
  username: z.string().min(1).exactOptional().describe('Role that signs in. Use one that can only read.'),
  password: z.string().exactOptional().describe('Its password: write `${VARIABLE}` or `${secret:name}`.'),
  ssl: z.boolean().exactOptional().describe('True requires TLS with a valid certificate.'),
  access: z
    .enum(['read', 'readwrite'])
    .default('read')
    .describe('`readwrite` adds the tool `db_execute`, each call of which needs an approval.'),
  allowDdl: z
    .boolean()
    .default(false)
    .describe('True lets `db_execute` create, alter and drop tables, indexes, views, sequences and types.'),
  allowPrivilegedRole: z
    .boolean()
    .default(false)
    .describe('True accepts a role that may read or write files of the database server.'),
  allowFunctions: z
    .array(z.string().min(1))
    .default([])
    .describe('Functions that statements may call although they are volatile.'),
});

type Connection = z.output<typeof fields>;

/** Returns the fields that do not fit together, each with the reason. */
function conflictsIn(connection: Connection): readonly (readonly [keyof Connection, string])[] {
  const { type, url, access, allowDdl } = connection;
  const ddl = allowDdl && access === 'read' ? [['allowDdl', 'needs `"access": "readwrite"`'] as const] : [];
  if (type === 'sqlite') return [...ddl, ...sqliteConflicts(connection)];
  if (url === undefined) {
    return connection.host === undefined ? [...ddl, ['url', 'or `host` is needed']] : ddl;
  }
  const problem = urlProblem(connection, url);
  const both = PARTS.filter((part) => connection[part] !== undefined);
  return [
    ...ddl,
    ...(problem === undefined ? [] : [['url', problem] as const]),
    ...both.map((part) => [part, 'is part of `url` already'] as const),
  ];
}

function urlProblem({ type, ssl }: Connection, url: string): string | undefined {
  if (type === 'sqlite' || !DATABASE_SCHEMES[type].test(url)) return `must be a ${type}:// URL`;
  const read = readDatabaseUrl(url);
  if ('problem' in read) return read.problem;
  return ssl !== undefined && ssl !== (read.address.ssl ?? ssl) ? 'contradicts `ssl`' : undefined;
}

function sqliteConflicts(connection: Connection): readonly (readonly [keyof Connection, string])[] {
  const wrong = (['url', 'host', 'port', 'username', 'password', 'ssl'] as const).filter(
    (part) => connection[part] !== undefined,
  );
  const file = connection.database;
  const isFile = file !== undefined && file !== ':memory:' && !file.includes('://');
  return [
    ...wrong.map((part) => [part, 'has no use with `sqlite`; write the path of the file in `database`'] as const),
    ...(isFile ? [] : [['database', 'must be the path of a file'] as const]),
  ];
}

const connection = fields.superRefine((value, context) => {
  for (const [field, message] of conflictsIn(value)) context.addIssue({ code: 'custom', path: [field], message });
});

const connections = z.array(connection).superRefine((all, context) => {
  for (const [at, { name }] of all.entries()) {
    const first = all.findIndex((other) => other.name === name);
    if (first !== at)
      context.addIssue({ code: 'custom', path: [at, 'name'], message: 'is the name of two connections' });
  }
});

/** The settings of the built-in database tools. */
export const database = z.strictObject({
  enabled: z.boolean().default(DATABASE.enabled).describe('False removes the built-in database tools.'),
  connections: connections
    .default([])
    .describe('Databases that the tools may use. Connections of all files count; of one name, that of the first file.'),
  queryTimeoutMs: z
    .int()
    .min(100)
    .max(3_600_000)
    .default(DATABASE.queryTimeoutMs)
    .describe('Longest time of one statement. It is then cancelled at the database.'),
  maxRows: z.int().min(1).max(100_000).default(DATABASE.maxRows).describe('Most rows that one call returns.'),
});
