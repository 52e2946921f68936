// Reads a file and a SQLite database with the built-in tools, and saves a report. Reading needs no approval; writing the
// file and changing the database do. The approver of the database sees the exact statement first. A statement that is
// not permitted reaches no approver. Exits non-zero if anything differs from what is written here.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openHeddle, text } from 'heddle';

const folder = await mkdtemp(join(tmpdir(), 'heddle-example-'));
const file = join(folder, 'shop.db');
const shop = new DatabaseSync(file);
shop.exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, country TEXT, amount REAL);
  INSERT INTO orders VALUES (1, 'DE', 20), (2, 'DE', 22.5), (3, 'FR', 8)`);
shop.close();
await writeFile(join(folder, 'countries.txt'), 'DE Germany\nFR France\n');

const shown: string[] = [];
try {
  await using heddle = await openHeddle({
    cwd: folder,
    store: ':memory:',
    config: {
      builtins: {
        filesystem: { allowedPaths: [folder] },
        database: { connections: [{ name: 'shop', type: 'sqlite', database: file, access: 'readwrite' }] },
      },
    },
    onApprovalRequest(approval) {
      shown.push(JSON.stringify(approval));
      return { approve: true };
    },
  });

  const countries = new Map(
    text((await heddle.call('filesystem.fs_read_file', { path: 'countries.txt' })).value)
      .trimEnd()
      .split('\n')
      .map((line) => [line.slice(0, 2), line.slice(3)]),
  );
  const sql = 'SELECT country, sum(amount) AS total FROM orders WHERE amount > ? GROUP BY country ORDER BY total DESC';
  const { value } = await heddle.call('database.db_query', { sql, params: [5] });
  const { rows } = value.structuredContent as { rows: { country: string; total: number }[] };
  assert.deepEqual(rows, [
    { country: 'DE', total: 42.5 },
    { country: 'FR', total: 8 },
  ]);
  assert.equal(shown.length, 0);

  const content = rows.map(({ country, total }) => `${countries.get(country)}: ${total}\n`).join('');
  await heddle.call('filesystem.fs_write_file', { path: 'report.txt', content });
  assert.equal(await readFile(join(folder, 'report.txt'), 'utf8'), 'Germany: 42.5\nFrance: 8\n');
  console.log(content);

  const update = { sql: 'UPDATE orders SET amount = ? WHERE id = ?', params: [9, 3] };
  const changed = await heddle.call('database.db_execute', update);
  assert.equal((changed.value.structuredContent as { affectedRows: number }).affectedRows, 1);
  assert.equal(shown.length, 2);
  assert(shown[1]?.includes(update.sql));

  const refused = await heddle.call('database.db_execute', { sql: 'DROP TABLE orders' });
  assert.equal(refused.value.isError, true);
  console.log(text(refused.value));
  assert.equal(shown.length, 2);
} finally {
  await rm(folder, { recursive: true, force: true });
}
