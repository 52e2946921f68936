/** Lists tables and views that the role may read or change. $1: a schema, or null for all but those of the system. */
export const TABLES_SQL = `
  SELECT n.nspname::text, c.relname::text, CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
    AND CASE WHEN $1::pg_catalog.text IS NULL
      THEN n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
      ELSE n.nspname = $1 END
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    AND (pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE')
      OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE'))
  ORDER BY 1, 2`;

/** Lists the columns of a table. $1: its name. $2: its schema, or null for the first one of the search path. */
export const COLUMNS_SQL = `
  SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), NOT (a.attnotnull OR t.typnotnull),
    CASE WHEN a.attidentity <> '' THEN 'generated as identity' ELSE pg_catalog.pg_get_expr(d.adbin, d.adrelid) END
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE c.relname = $1::pg_catalog.text AND c.relkind IN ('r', 'p', 'f', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped
    AND CASE WHEN $2::pg_catalog.text IS NULL THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = $2 END
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    AND (pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE')
      OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE'))
  ORDER BY a.attnum`;
