import { onTestFinished } from 'vitest';
import { freshSqlite } from '../store/fixtures.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { type Decide, decider, type Policy } from './decide.ts';

export interface RealStore extends Store {
  /** Asks the database over a connection of its own, and so sees only what is committed. */
  readonly committed: (sql: string) => Promise<readonly Record<string, unknown>[]>;
  /** The phases of the audit records that are committed, in order. */
  readonly phases: () => Promise<readonly unknown[]>;
  /** From now on the database refuses audit records, as it does when the disk is full. */
  readonly breakAudit: () => Promise<unknown>;
  readonly repairAudit: () => Promise<unknown>;
}

/** A store on a real SQLite file that is gone when the test ends. */
export async function realStore(): Promise<RealStore> {
  const database = await freshSqlite();
  const store = await openStore({ location: database.location });
  onTestFinished(async () => {
    await store.close().catch(() => {}); // A test may have left it unwritable.
    await database.remove();
  });
  return {
    ...store,
    committed: database.run,
    phases: async () => (await database.run('SELECT phase FROM audit ORDER BY rowid')).map(({ phase }) => phase),
    breakAudit: () =>
      database.run(`CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk is full'); END`),
    repairAudit: () => database.run('DROP TRIGGER full'),
  };
}

/** The decider of a policy that says only this. */
export const decides = ({
  permissions,
  ...rest
}: Partial<Omit<Policy, 'permissions'>> & { permissions?: Partial<Policy['permissions']> } = {}): Decide =>
  decider({
    mode: 'guarded',
    servers: new Map(),
    ...rest,
    permissions: { allow: [], ask: [], deny: [], ...permissions },
  });
