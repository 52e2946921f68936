import type { Migration } from '../migration.ts';

/** The Postgres schema, step by step; `schema_version` holds how many are done. */
export const MIGRATIONS: readonly Migration[] = [
  ({ schema }) => [
    schema
      .createTable('audit')
      .addColumn('id', 'bigint', (id) => id.primaryKey().generatedAlwaysAsIdentity())
      .addColumn('segment', 'text', (column) => column.notNull())
      .addColumn('sequence', 'integer', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('call_id', 'text', (column) => column.notNull())
      .addColumn('phase', 'text', (column) => column.notNull())
      .addColumn('at', 'double precision', (column) => column.notNull())
      .addColumn('caller', 'text', (column) => column.notNull())
      .addColumn('via', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('detail', 'text', (column) => column.notNull()),
    schema.createIndex('audit_at').on('audit').column('at'),
    schema.createIndex('audit_caller').on('audit').columns(['caller', 'at']),
    schema.createIndex('audit_call').on('audit').column('call_id'),
    schema
      .createTable('spans')
      .addColumn('id', 'bigint', (id) => id.primaryKey().generatedAlwaysAsIdentity())
      .addColumn('trace_id', 'text', (column) => column.notNull())
      .addColumn('span_id', 'text', (column) => column.notNull())
      .addColumn('parent_id', 'text')
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('started_at', 'double precision', (column) => column.notNull())
      .addColumn('duration_ms', 'double precision', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('attributes', 'text', (column) => column.notNull()),
    schema.createIndex('spans_trace').on('spans').column('trace_id'),
    schema.createIndex('spans_started').on('spans').column('started_at'),
    schema
      .createTable('servers')
      .addColumn('server', 'text', (column) => column.primaryKey())
      .addColumn('signature', 'text', (column) => column.notNull())
      .addColumn('era', 'text', (column) => column.notNull())
      .addColumn('tools', 'text', (column) => column.notNull())
      .addColumn('at', 'double precision', (column) => column.notNull()),
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
      .addColumn('total_calls', 'double precision', (column) => column.notNull())
      .addColumn('tool_errors', 'double precision', (column) => column.notNull())
      .addColumn('error_count', 'double precision', (column) => column.notNull())
      .addColumn('avg_latency_ms', 'double precision', (column) => column.notNull())
      .addColumn('last_call_time', 'double precision', (column) => column.notNull())
      .addPrimaryKeyConstraint('metrics_key', ['server', 'tool']),
  ],
  ({ schema }) => [
    schema
      .createTable('api_keys')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('sha256', 'text', (column) => column.notNull().unique())
      .addColumn('roles', 'text', (column) => column.notNull())
      .addColumn('profile', 'text')
      .addColumn('created_at', 'double precision', (column) => column.notNull()),
  ],
];
