import type { JsonObject } from '../../core/call.ts';
import { type SqlRow, type Statements, sql } from '../statements.ts';
import type { ClientBook, ClientRegistration } from './client-book.ts';
import type { RowSealer } from './row-sealer.ts';
import { nextEpoch, tableIn } from './vault-tables.ts';

/** A row of the table `clients`. Rows of different keys stand beside each other. */
export interface ClientRow extends SqlRow {
  readonly issuer: string;
  readonly redirect_uri: string;
  readonly key_name: string;
  readonly client_id: string;
  readonly sealed: string;
  /** Grows with each registration. An update keeps it. */
  readonly epoch: number;
}

/** The associated data of a registration. */
export const clientContext = (row: Pick<ClientRow, 'issuer' | 'redirect_uri' | 'client_id'>): readonly string[] => [
  ...['client', row.issuer, row.redirect_uri, row.client_id],
];

/** Client registrations in the table `clients`. A registration of an unknown key counts as none, and stays. */
export function clientBook(statements: Statements, sealer: RowSealer): ClientBook {
  const clients = tableIn(statements, 'clients');
  return {
    async find(issuer) {
      const rows = (await statements.read(
        sql`SELECT * FROM ${clients} WHERE issuer = ${issuer} ORDER BY epoch DESC`,
      )) as readonly ClientRow[];
      const found = await Promise.all(
        rows.map(async (row) => toRegistration(row, await sealer.open(clientContext(row), row))),
      );
      return found.flatMap((one) => one ?? []);
    },
    async put({ issuer, redirectUri, clientId, ...content }) {
      const context = clientContext({ issuer, redirect_uri: redirectUri, client_id: clientId });
      const { key_name, sealed } = await sealer.seal(context, content);
      await statements.write(
        [
          nextEpoch(statements),
          sql`INSERT INTO ${clients} (issuer, redirect_uri, key_name, client_id, sealed, epoch)
            SELECT CAST(${issuer} AS TEXT), CAST(${redirectUri} AS TEXT), CAST(${key_name} AS TEXT),
              CAST(${clientId} AS TEXT), CAST(${sealed} AS TEXT), epoch
            FROM ${tableIn(statements, 'vault_state')} WHERE id = 1
            ON CONFLICT (issuer, client_id, key_name) DO UPDATE
              SET redirect_uri = excluded.redirect_uri, sealed = excluded.sealed`,
        ],
        { durable: true },
      );
    },
    async remove(issuer, clientId) {
      await statements.write([sql`DELETE FROM ${clients} WHERE issuer = ${issuer} AND client_id = ${clientId}`]);
    },
  };
}

function toRegistration(row: ClientRow, content: JsonObject | undefined): ClientRegistration | undefined {
  if (!content) return undefined;
  const { issuer, redirect_uri: redirectUri, client_id: clientId } = row;
  return { ...(content as unknown as ClientRegistration), issuer, redirectUri, clientId };
}
