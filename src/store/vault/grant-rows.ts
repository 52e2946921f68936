import type { JsonObject } from '../../core/call.ts';
import { type SqlRow, type Statements, sql } from '../statements.ts';
import type { Grant, GrantLabel, TokenVault } from '../token-vault.ts';
import { dpopKeys } from './dpop-key-rows.ts';
import { type RowSealer, unknownKey } from './row-sealer.ts';
import { nextEpoch, readEpoch, tableIn } from './vault-tables.ts';

/** A row of the table `grants`. Rows of different keys stand beside each other: none overwrites one of an unknown key. */
export interface GrantRow extends SqlRow {
  readonly server_url: string;
  readonly principal: string;
  readonly key_name: string;
  readonly issuer: string;
  readonly resource: string;
  readonly sealed: string;
  readonly epoch: number;
  readonly at: number;
}

/** The associated data of a grant. */
export const grantContext = ({ issuer, resource, principal, server_url }: GrantRow): readonly string[] => [
  ...['grant', issuer, resource, principal, server_url],
];

/** The token vault in the tables `grants` and `grant_epochs`. */
export function tokenVault(statements: Statements, sealer: RowSealer): TokenVault {
  const grants = tableIn(statements, 'grants');
  const epochs = tableIn(statements, 'grant_epochs');

  const open = async (row: GrantRow): Promise<Grant | undefined> => {
    const content = await sealer.open(grantContext(row), row);
    const { issuer, resource, principal, server_url: serverUrl } = row;
    return content && { ...(content as JsonObject & Sealable), issuer, resource, principal, serverUrl };
  };

  async function staleKeys(grant: Grant, current: string): Promise<readonly string[]> {
    const rows = await statements.read(
      sql`SELECT key_name FROM ${grants} WHERE server_url = ${grant.serverUrl} AND principal = ${grant.principal}`,
    );
    const others = rows.map(({ key_name }) => String(key_name)).filter((name) => name !== current);
    const known = await Promise.all(others.map((name) => sealer.knows(name)));
    return others.filter((_, at) => known[at]);
  }

  return {
    async find(serverUrl, principal) {
      const rows = (await statements.read(
        sql`SELECT * FROM ${grants} WHERE server_url = ${serverUrl} AND principal = ${principal} ORDER BY epoch DESC`,
      )) as readonly GrantRow[];
      for (const row of rows) {
        const grant = await open(row);
        if (grant) return grant;
      }
      if (rows[0]) throw unknownKey(`The credential for ${serverUrl}`, rows[0].key_name);
      return undefined;
    },
    async put(grant, epoch) {
      const row = await toRow(grant, epoch, sealer);
      const { server_url, principal, key_name, issuer, resource, sealed, at } = row;
      const stale = await staleKeys(grant, key_name);
      const [accepted = []] = await statements.write(
        [
          sql`INSERT INTO ${epochs} (server_url, principal, epoch) VALUES (${server_url}, ${principal}, ${epoch})
            ON CONFLICT (server_url, principal) DO UPDATE SET epoch = excluded.epoch
            WHERE ${epochs}.epoch <= excluded.epoch RETURNING epoch`,
          sql`INSERT INTO ${grants} (server_url, principal, key_name, issuer, resource, sealed, epoch, at)
            SELECT server_url, principal, CAST(${key_name} AS TEXT), CAST(${issuer} AS TEXT), CAST(${resource} AS TEXT),
              CAST(${sealed} AS TEXT), epoch, CAST(${at} AS DOUBLE PRECISION)
            FROM ${epochs} WHERE server_url = ${server_url} AND principal = ${principal} AND epoch = ${epoch}
            ON CONFLICT (server_url, principal, key_name) DO UPDATE SET issuer = excluded.issuer,
              resource = excluded.resource, sealed = excluded.sealed, epoch = excluded.epoch, at = excluded.at`,
          ...stale.map(
            (name) => sql`DELETE FROM ${grants}
              WHERE server_url = ${server_url} AND principal = ${principal} AND key_name = ${name} AND epoch <= ${epoch}`,
          ),
        ],
        { durable: true },
      );
      return accepted.length > 0;
    },
    async remove(serverUrl, principal) {
      // The new epoch rejects the write of a refresh that began before.
      const [, , removed = []] = await statements.write(
        [
          nextEpoch(statements),
          sql`INSERT INTO ${epochs} (server_url, principal, epoch)
            SELECT CAST(${serverUrl} AS TEXT), CAST(${principal} AS TEXT), epoch
            FROM ${tableIn(statements, 'vault_state')} WHERE id = 1
            ON CONFLICT (server_url, principal) DO UPDATE SET epoch = excluded.epoch`,
          sql`DELETE FROM ${grants} WHERE server_url = ${serverUrl} AND principal = ${principal} RETURNING key_name`,
        ],
        { durable: true },
      );
      return removed.length > 0;
    },
    dpopKey: dpopKeys(statements, sealer),
    version: () => readEpoch(statements),
    async serversOf(principal) {
      const rows = await statements.read(sql`SELECT DISTINCT server_url FROM ${grants} WHERE principal = ${principal}`);
      return rows.map(({ server_url }) => String(server_url)).toSorted();
    },
    async labels() {
      const rows = (await statements.read(sql`SELECT * FROM ${grants}`)) as readonly GrantRow[];
      const labels = await Promise.all(rows.map(async (row) => labelOf(row, await open(row).catch(() => undefined))));
      return labels.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
    },
  };
}

type Sealable = Omit<Grant, 'issuer' | 'resource' | 'principal' | 'serverUrl'>;

async function toRow(grant: Grant, epoch: number, sealer: RowSealer): Promise<GrantRow> {
  const { issuer, resource, principal, serverUrl, ...content } = grant;
  const row = { server_url: serverUrl, principal, issuer, resource, epoch, at: grant.receivedAt };
  const sealed = await sealer.seal(grantContext({ ...row, key_name: '', sealed: '' }), content);
  return { ...row, ...sealed };
}

function labelOf(row: GrantRow, grant: Grant | undefined): GrantLabel {
  const { server_url: serverUrl, issuer, resource, principal, at: receivedAt } = row;
  const label = { serverUrl, issuer, resource, principal, receivedAt };
  if (!grant) return { ...label, scopes: [], isRenewable: false, unknownKey: row.key_name };
  const { expiresAt, scopes, refreshToken } = grant;
  return { ...label, ...(expiresAt !== undefined && { expiresAt }), scopes, isRenewable: refreshToken !== undefined };
}

const orderOf = ({ serverUrl, principal, issuer }: GrantLabel) => JSON.stringify([serverUrl, principal, issuer]);
