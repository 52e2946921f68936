import { type RawSql, type SqlStatement, type Statements, sql } from '../statements.ts';

type VaultTable =
  | 'vault_state'
  | 'leases'
  | 'grant_epochs'
  | 'grants'
  | 'clients'
  | 'dpop_keys'
  | 'sign_ins'
  | 'refusals';

/** Returns the full name of a table, for `sql`. */
export const tableIn = ({ schema }: Statements, table: VaultTable): RawSql => ({ raw: `${schema}.${table}` });

/** Advances the sequence of epochs. The row stays locked until the end of the transaction. */
export const nextEpoch = (statements: Statements): SqlStatement =>
  sql`UPDATE ${tableIn(statements, 'vault_state')} SET epoch = epoch + 1 WHERE id = 1 RETURNING epoch`;

/** Returns the newest epoch. Every lease and every removal has a new one, so every change of tokens has. */
export async function readEpoch(statements: Statements): Promise<number> {
  const rows = await statements.read(sql`SELECT epoch FROM ${tableIn(statements, 'vault_state')} WHERE id = 1`);
  return Number(rows[0]?.epoch ?? 0);
}

/** Returns the salt of this database, in hexadecimal. */
export async function readSalt(statements: Statements): Promise<string> {
  const rows = await statements.read(sql`SELECT salt FROM ${tableIn(statements, 'vault_state')} WHERE id = 1`);
  return String(rows[0]?.salt ?? '');
}
