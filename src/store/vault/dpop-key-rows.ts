import { type SqlRow, type Statements, sql } from '../statements.ts';
import type { TokenVault } from '../token-vault.ts';
import type { RowSealer } from './row-sealer.ts';
import { tableIn } from './vault-tables.ts';

/** A row of the table `dpop_keys`: the private key of a principal at an issuer. */
export interface DpopKeyRow extends SqlRow {
  readonly issuer: string;
  readonly principal: string;
  readonly key_name: string;
  readonly sealed: string;
}

/** The associated data of a DPoP key. */
export const dpopContext = ({ issuer, principal }: Pick<DpopKeyRow, 'issuer' | 'principal'>): readonly string[] => [
  ...['dpop', issuer, principal],
];

/** The DPoP keys in the table `dpop_keys`. */
export function dpopKeys(statements: Statements, sealer: RowSealer): TokenVault['dpopKey'] {
  const table = tableIn(statements, 'dpop_keys');
  return async ({ issuer, principal }, generate) => {
    const find = async () => {
      const rows = await statements.read(
        sql`SELECT * FROM ${table} WHERE issuer = ${issuer} AND principal = ${principal}`,
      );
      for (const row of rows as readonly DpopKeyRow[]) {
        const key = await sealer.open(dpopContext(row), row);
        if (key) return key;
      }
      return undefined;
    };
    const known = await find();
    if (known) return known;
    const made = generate();
    const { key_name, sealed } = await sealer.seal(dpopContext({ issuer, principal }), made);
    await statements.write(
      [
        sql`INSERT INTO ${table} (issuer, principal, key_name, sealed)
          VALUES (${issuer}, ${principal}, ${key_name}, ${sealed}) ON CONFLICT (issuer, principal, key_name) DO NOTHING`,
      ],
      { durable: true },
    );
    return (await find()) ?? made;
  };
}
