import { onTestFinished } from 'vitest';
import { type FreshDatabase, freshSqlite } from '../store/fixtures.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import type { OpenApprovalFlow } from './approve.ts';
import { type Decide, decider, type Policy } from './decide.ts';

export interface RealStore extends Store {
  /** Runs SQL on a separate connection, which sees only committed rows. */
  readonly committed: (sql: string) => Promise<readonly Record<string, unknown>[]>;
  /** Reads the phases of the committed audit records, in order. */
  readonly phases: () => Promise<readonly unknown[]>;
  /** Makes the database refuse audit records, as with a full disk. */
  readonly breakAudit: () => Promise<unknown>;
  readonly repairAudit: () => Promise<unknown>;
}

/** Opens a store on an empty database, a SQLite file by default, and deletes it when the test ends. */
export async function realStore(fresh: () => Promise<FreshDatabase> = freshSqlite): Promise<RealStore> {
  const database = await fresh();
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

/** Opens no approvals, for tests whose calls need none. */
export const noApprovals: OpenApprovalFlow = () => Promise.reject(new Error('This test has no approvals.'));

/** Builds the decide function of a policy; every other part of it is empty. */
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
