import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { carriersOf } from '../alive.ts';
import type { AuthorizationServer } from '../servers/authorization-server.ts';

/** The parameters of token requests and the fields of token responses that are secrets. */
const SECRET_FIELDS = [
  ...['access_token', 'refresh_token', 'id_token', 'code', 'code_verifier', 'client_secret', 'client_assertion'],
  ...['assertion', 'subject_token'],
];

/** Returns the secrets that an authorization server has received and issued, each under its name. */
export function secretsOf({ tokenRequests, tokenResponses }: AuthorizationServer): ReadonlyMap<string, string> {
  const all = [...tokenRequests.map(({ params }) => params), ...tokenResponses];
  const found = all.flatMap((fields, at) =>
    SECRET_FIELDS.flatMap((name): [string, string][] => {
      const value = (fields as Record<string, unknown>)[name];
      return typeof value === 'string' ? [[`${name} ${at}`, value]] : [];
    }),
  );
  return new Map(found);
}

/** Returns every spelling of a secret that a search must find. Of a JWT the signature is enough. */
function spellings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const encoded = [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')];
  const parts = secret.split('.');
  return [secret, encodeURIComponent(secret), ...encoded, ...(parts.length === 3 ? parts.slice(2) : [])];
}

/** Returns one message per secret that a place contains. */
export function findLeaks(
  secrets: ReadonlyMap<string, string>,
  places: ReadonlyMap<string, string>,
): readonly string[] {
  return [...secrets].flatMap(([name, secret]) => {
    const forms = spellings(secret);
    return [...places].flatMap(([place, text]) =>
      forms.some((form) => text.includes(form)) ? [`${name} in ${place}`] : [],
    );
  });
}

/** Returns the content of every file below a folder, and the rows of every SQLite file. */
export function filesBelow(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  const databases = paths.filter((path) => path.endsWith('.sqlite'));
  return new Map([
    ...paths.map((path) => [path, readFileSync(path, 'latin1')] as const),
    ...databases.map((path) => [`the rows of ${path}`, rowsOf(path)] as const),
  ]);
}

function rowsOf(path: string): string {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
    return JSON.stringify(tables.map(({ name }) => db.prepare(`SELECT * FROM "${name}"`).all()));
  } finally {
    db.close();
  }
}

/** Returns the arguments of every process with this home folder. */
export function argumentsOf(home: string): string {
  const pids = carriersOf(`HEDDLE_HOME=${home}\0`);
  return pids.map(commandOf).join('\n');
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It has just ended.
  }
}
