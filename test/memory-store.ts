import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { openStore } from '../src/store/open-store.ts';
import type { Store } from '../src/store/store.ts';
import type { Grant } from '../src/store/token-vault.ts';

/** Opens a store in memory with these tokens. It is closed when the test ends. */
export async function memoryStore(clock: () => number, grants: readonly Grant[] = []): Promise<Store> {
  const env = { HEDDLE_HOME: '/nonexistent', HEDDLE_SECRET_KEY: randomBytes(32).toString('base64') };
  const store = await openStore({ location: ':memory:', clock, env, keyring: async () => undefined });
  onTestFinished(() => store.close());
  for (const grant of grants) await store.vault.put(grant, 0);
  return store;
}
