import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { BIN, project } from './heddle-command.ts';

const CONNECTIONS = [
  { name: 'notes', type: 'sqlite', database: 'notes.db', access: 'readwrite' },
  { name: 'other', type: 'sqlite', database: 'missing.db' },
];
const configured = (connections: readonly object[]) =>
  JSON.stringify({ builtins: { database: { connections } } }, null, 2);

/** Makes a project with a SQLite database of two notes. */
function notes(connections: readonly object[] = CONNECTIONS, trusted = true) {
  const made = project({ 'heddle.json': configured(connections) }, { trusted });
  const database = new DatabaseSync(join(made.folder, 'notes.db'));
  database.exec(
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO notes VALUES (1, 'one'), (2, 'two')",
  );
  database.close();
  return made;
}

verifies('B2', 'heddle call prints the rows of a query, and the reason of a failure', async () => {
  const { heddle } = notes();
  const sql = 'sql=SELECT id, body FROM notes ORDER BY id';
  const query = await heddle(['call', 'database.db_query', 'connection=notes', sql]);
  expect(query).toMatchObject({ code: 0, stdout: expect.stringContaining('{"id":1,"body":"one"}') });
  const failed = await heddle(['call', 'database.db_query', 'connection=other', sql]);
  expect(failed.code).not.toBe(0);
  expect(failed.stdout + failed.stderr).toContain('other');
  expect(failed.stdout + failed.stderr).not.toContain('missing.db');
});

verifies('C11', 'a project that is untrusted gets no database tools', async () => {
  const { heddle } = notes(CONNECTIONS, false);
  const { code, stderr } = await heddle(['call', 'database.db_query', 'connection=notes', 'sql=SELECT 1']);
  expect(code).not.toBe(0);
  expect(stderr).toContain('open the database notes (sqlite at ');
  expect(stderr).toContain('heddle trust');
});

for (const mode of ['legacy', 'auto'] as const) {
  verifies('L1', `heddle builtin database serves the read tools over stdio, negotiating as ${mode}`, async () => {
    const { folder, env } = notes();
    const where = mode === 'auto' ? ['--connection', 'notes=${DATABASE}'] : ['--config', 'heddle.json'];
    const args = [BIN, 'builtin', 'database', ...where];
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const named = { ...env, DATABASE: 'sqlite:notes.db' };
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: folder, env: named }));
    expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(['db_query', 'db_list_tables', 'db_describe_table', 'db_explain']);
    const { structuredContent } = await client.callTool({
      name: 'db_query',
      arguments: { connection: 'notes', sql: 'SELECT body FROM notes WHERE id = ?', params: [2] },
    });
    expect(structuredContent).toMatchObject({ rows: [{ body: 'two' }] });
    await client.close();
  });
}

verifies(
  'L1',
  'heddle builtin database exits with 3 for a bad connection, with file and line, and 2 for bad usage',
  async () => {
    const bad = [{ name: 'notes', type: 'sqlite' }];
    const { heddle, folder } = notes(bad);
    const given = (...connections: string[]) => connections.flatMap((one) => ['--connection', one]);
    const outcomes = [
      [['--config', 'heddle.json'], 3, `${join(folder, 'heddle.json')}:5:`],
      [given('a=sqlite:x.db', 'a=sqlite:y.db'), 3, 'is the name of two connections'],
      [given('a=postgres://u:${NOPE}@host/db'), 3, 'The variable `NOPE` is not set'],
      [given('a=http://host/db'), 2, 'is no database'],
      [given('secret-text'), 2, 'is no database'],
      [[], 2, 'needs `--connection` or `--config`'],
    ] as const;
    for (const [args, code, reason] of outcomes) {
      const outcome = await heddle(['builtin', 'database', ...args]);
      expect.soft(outcome, args.join(' ')).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(reason) });
      expect.soft(outcome.stderr).not.toContain('secret-text');
    }
    const warned = await heddle(['builtin', 'database', ...given('a=mysql://u:hunter2@host/db')], { stdin: '' });
    expect(warned).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('other users of this machine'),
    });
    expect(warned.stderr).not.toContain('hunter2');
  },
);
