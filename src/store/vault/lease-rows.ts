import { randomUUID } from 'node:crypto';
import type { LeaseBook } from '../lease-book.ts';
import { type Statements, sql } from '../statements.ts';
import { nextEpoch, tableIn } from './vault-tables.ts';

/** The longest lease. An end later than this was written before the clock was set back, and counts as over. */
const MAX_LEASE_MS = 10 * 60_000;

/** Leases in the table `leases`. All leases count in one sequence, so that epochs grow for every name. */
export function leaseBook(statements: Statements): LeaseBook {
  const leases = tableIn(statements, 'leases');
  const state = tableIn(statements, 'vault_state');
  const inForce = (now: string) => ({
    raw: `(${leases.raw}.expires_at > ${now} AND ${leases.raw}.expires_at <= ${now} + ${MAX_LEASE_MS})`,
  });
  async function isHeld(name: string): Promise<boolean> {
    const held = sql`SELECT 1 AS held FROM ${leases} WHERE name = ${name} AND ${inForce(statements.now())}`;
    return (await statements.read(held)).length > 0;
  }
  return {
    isHeld,
    async acquire(name, ttlMs) {
      if (await isHeld(name)) return undefined; // A waiting process asks often, and this costs no write.
      const now = { raw: statements.now() };
      const holder = randomUUID();
      const ttl = { raw: String(Math.min(ttlMs, MAX_LEASE_MS)) };
      const [, , taken = []] = await statements.write([
        nextEpoch(statements),
        // Crashed processes leave leases of names that none takes again. A run keeps its lease: its owner may be suspended.
        sql`DELETE FROM ${leases}
          WHERE expires_at < ${{ raw: `${now.raw} - ${MAX_LEASE_MS}` }} AND name NOT LIKE 'run:%'`,
        sql`INSERT INTO ${leases} (name, holder, epoch, expires_at)
          SELECT CAST(${name} AS TEXT), CAST(${holder} AS TEXT), epoch, ${now} + ${ttl} FROM ${state} WHERE id = 1
          ON CONFLICT (name) DO UPDATE
            SET holder = excluded.holder, epoch = excluded.epoch, expires_at = excluded.expires_at
            WHERE NOT ${inForce(now.raw)}
          RETURNING epoch, expires_at`,
      ]);
      const row = taken[0];
      return row && { name, holder, epoch: Number(row.epoch), expiresAt: Number(row.expires_at) };
    },
    async renew({ name, holder }, ttlMs) {
      const end = { raw: `${statements.now()} + ${Math.min(ttlMs, MAX_LEASE_MS)}` };
      const [renewed = []] = await statements.write([
        sql`UPDATE ${leases} SET expires_at = ${end} WHERE name = ${name} AND holder = ${holder} RETURNING name`,
      ]);
      return renewed.length > 0;
    },
    async release({ name, holder }) {
      await statements.write([sql`DELETE FROM ${leases} WHERE name = ${name} AND holder = ${holder}`]);
    },
  };
}
