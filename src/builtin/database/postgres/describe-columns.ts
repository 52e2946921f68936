import type { FieldDef, PoolClient } from 'pg';
import { BoundedMap } from '../../../core/bounded-map.ts';
import type { Column } from '../database.ts';

const MAX_TYPES = 1_000;
const TYPES_SQL = `
  SELECT pg_catalog.format_type(o, m) AS type
  FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.int4[]))
    WITH ORDINALITY AS t (o, m, at) ORDER BY at`;

/** Names the columns of a result and their types, as the database names them. */
export type DescribeColumns = (client: PoolClient, fields: readonly FieldDef[]) => Promise<readonly Column[]>;

/** Returns a function that remembers the names of types. */
export function columnDescriber(): DescribeColumns {
  const names = new BoundedMap<string, string>(MAX_TYPES);
  return async (client, fields) => {
    const unknown = new Map(fields.filter((field) => !names.has(keyOf(field))).map((field) => [keyOf(field), field]));
    if (unknown.size > 0) {
      const wanted = [...unknown.values()];
      const { rows } = await client.query<{ type: string }>(TYPES_SQL, [
        wanted.map(({ dataTypeID }) => dataTypeID),
        wanted.map(({ dataTypeModifier }) => dataTypeModifier),
      ]);
      for (const [at, field] of wanted.entries()) names.set(keyOf(field), rows[at]?.type ?? 'unknown');
    }
    return fields.map((field) => ({ name: field.name, type: names.get(keyOf(field)) ?? 'unknown' }));
  };
}

const keyOf = ({ dataTypeID, dataTypeModifier }: FieldDef): string => `${dataTypeID} ${dataTypeModifier}`;
