import type { Migration } from '../migration.ts';

/**
 * The SQLite schema, step by step; `PRAGMA user_version` holds how many are done. An index would be one more page to
 * write in every transaction of the hot path, so there are none: searches go from the newest row backwards.
 */
export const MIGRATIONS: readonly Migration[] = [
  ({ schema }) => [
    schema
      .createTable('audit')
      .addColumn('id', 'integer', (id) => id.primaryKey())
      .addColumn('segment', 'text', (column) => column.notNull())
      .addColumn('sequence', 'integer', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('call_id', 'text', (column) => column.notNull())
      .addColumn('phase', 'text', (column) => column.notNull())
      .addColumn('at', 'real', (column) => column.notNull())
      .addColumn('caller', 'text', (column) => column.notNull())
      .addColumn('via', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('detail', 'text', (column) => column.notNull()),
    schema
      .createTable('spans')
      .addColumn('id', 'integer', (id) => id.primaryKey())
      .addColumn('trace_id', 'text', (column) => column.notNull())
      .addColumn('span_id', 'text', (column) => column.notNull())
      .addColumn('parent_id', 'text')
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('started_at', 'real', (column) => column.notNull())
      .addColumn('duration_ms', 'real', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('attributes', 'text', (column) => column.notNull()),
    schema
      .createTable('servers')
      .addColumn('server', 'text', (column) => column.primaryKey())
      .addColumn('signature', 'text', (column) => column.notNull())
      .addColumn('era', 'text', (column) => column.notNull())
      .addColumn('tools', 'text', (column) => column.notNull())
      .addColumn('at', 'real', (column) => column.notNull()),
  ],
  ({ schema }) =>
    (['resources', 'templates', 'prompts'] as const).map((list) =>
      schema.alterTable('servers').addColumn(list, 'text', (column) => column.notNull().defaultTo('[]')),
    ),
  ({ schema }) => [schema.alterTable('spans').addColumn('server', 'text')],
  ({ schema }) => [
    schema
      .createTable('metrics')
      .addColumn('server', 'text', (column) => column.notNull())
      .addColumn('tool', 'text', (column) => column.notNull())
      .addColumn('total_calls', 'real', (column) => column.notNull())
      .addColumn('tool_errors', 'real', (column) => column.notNull())
      .addColumn('error_count', 'real', (column) => column.notNull())
      .addColumn('avg_latency_ms', 'real', (column) => column.notNull())
      .addColumn('last_call_time', 'real', (column) => column.notNull())
      .addPrimaryKeyConstraint('metrics_key', ['server', 'tool']),
  ],
  ({ schema }) => [
    schema
      .createTable('api_keys')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('sha256', 'text', (column) => column.notNull().unique())
      .addColumn('roles', 'text', (column) => column.notNull())
      .addColumn('profile', 'text')
      .addColumn('created_at', 'real', (column) => column.notNull()),
  ],
];
