import type { JsonObject } from '../../core/call.ts';
import { type RawSql, type SqlRow, type SqlStatement, type Statements, sql } from '../statements.ts';
import { type ClientRow, clientContext } from './client-rows.ts';
import { type DpopKeyRow, dpopContext } from './dpop-key-rows.ts';
import { type GrantRow, grantContext } from './grant-rows.ts';
import type { RowSealer, SealedContent } from './row-sealer.ts';
import { type SignInRow, signInContext } from './sign-in-rows.ts';
import { tableIn } from './vault-tables.ts';

/** The result of sealing every row with the current key. */
export interface RekeyReport {
  /** The name of the key that every opened row has now. */
  readonly key: string;
  readonly resealed: number;
  /** Rows that were left as they are, because their key is not available or they were changed. */
  readonly unopened: readonly { readonly key: string; readonly rows: number }[];
}

/**
 * A table with sealed rows. `move` writes a row under the new key and removes the old one. A sealed text is unique, so
 * it finds the row only if it is unchanged.
 */
interface SealedTable {
  readonly rows: () => Promise<readonly (SqlRow & SealedContent)[]>;
  readonly context: (row: never) => readonly string[];
  readonly move: (row: never, next: SealedContent) => readonly SqlStatement[];
}

/** Seals every row with the current key. A row that another process changes meanwhile is left to that process. */
export async function resealAll(statements: Statements, sealer: RowSealer): Promise<RekeyReport> {
  const key = await sealer.currentKey();
  const unopened = new Map<string, number>();
  let resealed = 0;
  for (const { rows, context, move } of sealedTables(statements)) {
    for (const row of await rows()) {
      if (row.key_name === key) continue;
      const associated = context(row as never);
      const content = await sealer.open(associated, row).catch((): JsonObject | undefined => undefined);
      if (content) {
        await statements.write(move(row as never, await sealer.seal(associated, content)), { durable: true });
        resealed++;
      } else unopened.set(row.key_name, (unopened.get(row.key_name) ?? 0) + 1);
    }
  }
  return { key, resealed, unopened: [...unopened].map(([name, rows]) => ({ key: name, rows })) };
}

function sealedTables(statements: Statements): readonly SealedTable[] {
  const grants = tableIn(statements, 'grants');
  const clients = tableIn(statements, 'clients');
  const dpopKeys = tableIn(statements, 'dpop_keys');
  const signIns = tableIn(statements, 'sign_ins');
  const allOf = (table: RawSql) => async () =>
    (await statements.read(sql`SELECT * FROM ${table}`)) as readonly (SqlRow & SealedContent)[];
  return [
    {
      rows: allOf(grants),
      context: grantContext,
      move: (row: GrantRow, next) => [
        sql`INSERT INTO ${grants} (server_url, principal, key_name, issuer, resource, sealed, epoch, at)
          SELECT server_url, principal, CAST(${next.key_name} AS TEXT), issuer, resource, CAST(${next.sealed} AS TEXT),
            epoch, at FROM ${grants} WHERE sealed = ${row.sealed}
          ON CONFLICT (server_url, principal, key_name) DO UPDATE SET issuer = excluded.issuer,
            resource = excluded.resource, sealed = excluded.sealed, epoch = excluded.epoch, at = excluded.at
            WHERE ${grants}.epoch < excluded.epoch`,
        sql`DELETE FROM ${grants} WHERE sealed = ${row.sealed}`,
      ],
    },
    {
      rows: allOf(clients),
      context: clientContext,
      move: (row: ClientRow, next) => [
        sql`INSERT INTO ${clients} (issuer, redirect_uri, key_name, client_id, sealed, epoch)
          SELECT issuer, redirect_uri, CAST(${next.key_name} AS TEXT), client_id, CAST(${next.sealed} AS TEXT), epoch
          FROM ${clients} WHERE sealed = ${row.sealed}
          ON CONFLICT (issuer, client_id, key_name) DO NOTHING`,
        sql`DELETE FROM ${clients} WHERE sealed = ${row.sealed}`,
      ],
    },
    {
      rows: allOf(dpopKeys),
      context: dpopContext,
      move: (row: DpopKeyRow, next) => [
        sql`INSERT INTO ${dpopKeys} (issuer, principal, key_name, sealed)
          SELECT issuer, principal, CAST(${next.key_name} AS TEXT), CAST(${next.sealed} AS TEXT)
          FROM ${dpopKeys} WHERE sealed = ${row.sealed}
          ON CONFLICT (issuer, principal, key_name) DO NOTHING`,
        sql`DELETE FROM ${dpopKeys} WHERE sealed = ${row.sealed}`,
      ],
    },
    {
      rows: allOf(signIns),
      context: signInContext,
      move: (row: SignInRow, next) => [
        sql`UPDATE ${signIns} SET key_name = ${next.key_name}, sealed = ${next.sealed} WHERE sealed = ${row.sealed}`,
      ],
    },
  ];
}
