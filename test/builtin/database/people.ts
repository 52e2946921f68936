import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JsonObject } from '../../../src/core/call.ts';

export const EXECUTE = 'mcp__database__db_execute';
/** A call of `db_execute` that adds one to each age. */
export const OLDER: JsonObject = { sql: 'UPDATE people\nSET age = age + ?', params: [1] };

/** Makes a SQLite database with two people, and the settings of a connection that may change it. */
export function people(folder: string, access: 'read' | 'readwrite' = 'readwrite') {
  const file = join(folder, 'people.db');
  const database = new DatabaseSync(file);
  database.exec(
    'CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER); INSERT INTO people VALUES (1, 40), (2, 60)',
  );
  database.close();
  return {
    builtins: { database: { connections: [{ name: 'people', type: 'sqlite', database: file, access }] } },
    /** Reads all ages. */
    ages(): readonly unknown[] {
      const reading = new DatabaseSync(file, { readOnly: true });
      const rows = reading.prepare('SELECT age FROM people ORDER BY id').all();
      reading.close();
      return rows.map(({ age }) => age);
    },
  };
}
