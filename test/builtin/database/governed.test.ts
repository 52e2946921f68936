import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/core/call.ts';
import { text } from '../../../src/index.ts';
import { verifies } from '../../requirements.ts';
import { temporaryFolder, temporaryHeddleClient } from '../../temporary-heddle.ts';

/** Opens a Heddle with two SQLite databases: `shop` can only be read, `log` also be written. */
async function opened(config: JsonObject = {}) {
  const folder = await temporaryFolder();
  for (const name of ['shop', 'log']) {
    const database = new DatabaseSync(join(folder, `${name}.db`));
    database.exec(
      "CREATE TABLE orders (id INTEGER PRIMARY KEY, label TEXT); INSERT INTO orders VALUES (1, 'one'), (2, 'two')",
    );
    database.close();
  }
  const connections = [
    { name: 'shop', type: 'sqlite', database: join(folder, 'shop.db') },
    { name: 'log', type: 'sqlite', database: join(folder, 'log.db'), access: 'readwrite' },
  ];
  const settings = { approvals: { keepOpenMs: 0 }, builtins: { database: { connections } }, ...config };
  const heddle = await temporaryHeddleClient({ folder, config: settings });
  const call = async (name: string, input: JsonObject) => text((await heddle.call(`database.${name}`, input)).value);
  return { folder, heddle, call };
}

const UPDATE = { sql: 'UPDATE orders SET label = ? WHERE id = ?', params: ['uno', 1] };
const labels = { connection: 'log', sql: 'SELECT label FROM orders ORDER BY id' };

verifies('B2', 'in every mode the read tools run, and db_execute waits for an approver', async () => {
  for (const mode of ['guarded', 'strict', 'open']) {
    const { heddle, call } = await opened({ mode: mode });
    expect(await call('db_query', { connection: 'shop', sql: 'SELECT * FROM orders' })).toContain('"rowCount":2');
    expect(await call('db_list_tables', { connection: 'shop' })).toContain('"table_name":"orders"');
    expect(await call('db_describe_table', { connection: 'log', tableName: 'orders' })).toContain(
      '"column_name":"label"',
    );
    expect(await call('db_explain', { connection: 'shop', sql: 'SELECT * FROM orders' })).toContain('SCAN');
    await expect(call('db_execute', UPDATE)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
    expect(await call('db_query', labels)).toContain('[{"label":"one"},{"label":"two"}]');
    const [pending] = await heddle.approvals.list();
    expect(pending).toMatchObject({ subject: { name: 'mcp__database__db_execute', riskLevel: 'high' } });
    expect(JSON.stringify(pending)).toContain(UPDATE.sql);
    await heddle.approvals.approve(pending?.id ?? '');
    expect(await call('db_execute', UPDATE)).toContain('"affectedRows":1');
    expect(await call('db_query', labels)).toContain('[{"label":"uno"},{"label":"two"}]');
  }
});
