import { isKeyword } from './split-mysql-statement.ts';
import { type MysqlToken, tokenizeMysql } from './tokenize-mysql.ts';

/** The rights of a user beyond reading. */
export interface GrantReport {
  /** Privileges to read files, administer the server or give privileges to others. */
  readonly privileged: readonly string[];
  readonly canWrite: boolean;
}

const READING = new Set([
  ...['USAGE', 'SELECT', 'SHOW VIEW', 'SHOW DATABASES', 'PROCESS', 'EXECUTE', 'REFERENCES', 'LOCK TABLES'],
  ...['REPLICATION CLIENT', 'BINLOG MONITOR', 'SLAVE MONITOR', 'REPLICA MONITOR', 'SHOW_ROUTINE'],
]);
/** Privileges of data. All others administer the server. */
const WRITING = new Set([
  ...[
    'INSERT',
    'UPDATE',
    'DELETE',
    'CREATE',
    'DROP',
    'ALTER',
    'INDEX',
    'TRIGGER',
    'EVENT',
    'CREATE VIEW',
    'CREATE ROUTINE',
  ],
  ...['ALTER ROUTINE', 'CREATE TEMPORARY TABLES', 'DELETE HISTORY', 'DELETE VERSIONING ROWS'],
]);
const ALL = 'ALL PRIVILEGES';

/** Reads the lines of SHOW GRANTS. */
export function checkMysqlGrants(lines: readonly string[]): GrantReport {
  const grants = lines.flatMap(privilegesIn);
  const privileged = new Set(grants.filter(isPrivileged).map(({ privilege }) => privilege));
  return { privileged: [...privileged], canWrite: grants.some(({ privilege }) => !READING.has(privilege)) };
}

const QUOTED = /`(?:[^`]|``)*`|"(?:[^"]|"")*"|'(?:[^'\\]|\\.|'')*(?:'|$)/gs;

/** Hides the texts in a line of SHOW GRANTS: MariaDB shows the hash of the password there. */
export const hidePasswordHash = (line: string): string =>
  line.replace(QUOTED, (text) => (text.startsWith("'") ? "'…'" : text));

interface Grant {
  readonly privilege: string;
  readonly isGlobal: boolean;
}

/** ALL on one schema is the right of its owner. Every other privilege that is not of data administers the server. */
const isPrivileged = ({ privilege, isGlobal }: Grant): boolean =>
  privilege === ALL ? isGlobal : !READING.has(privilege) && !WRITING.has(privilege);

function privilegesIn(line: string): readonly Grant[] {
  const tokens = tokenizeMysql(line, { ansiQuotes: false, noBackslashEscapes: false });
  const on = tokens.findIndex((token) => isKeyword(token, 'ON'));
  // The membership in a role has no ON. Active roles have lines of their own.
  if (!isKeyword(tokens[0], 'GRANT') || on < 0) return [];
  const isGlobal = tokens[on + 1]?.text === '*' && tokens[on + 2]?.text === '.';
  const privileges = privilegesOf(tokens.slice(1, on)).map((privilege) => ({ privilege, isGlobal }));
  return grantsOthers(tokens) ? [...privileges, { privilege: 'GRANT OPTION', isGlobal }] : privileges;
}

/** Joins the words of each privilege. Columns in parentheses are left out. */
function privilegesOf(tokens: readonly MysqlToken[]): readonly string[] {
  const privileges: string[] = [];
  let words: string[] = [];
  let depth = 0;
  for (const { kind, text } of tokens) {
    if (text === '(') depth++;
    else if (text === ')') depth--;
    else if (depth > 0) continue;
    else if (kind === 'symbol' && text === ',') {
      privileges.push(words.join(' '));
      words = [];
    } else words.push(text);
  }
  return [...privileges, words.join(' ')].map((privilege) => (privilege === 'ALL' ? ALL : privilege));
}

const grantsOthers = (tokens: readonly MysqlToken[]): boolean =>
  tokens.some((token, at) => isKeyword(token, 'GRANT') && isKeyword(tokens[at + 1], 'OPTION'));
