import type { JsonObject } from '../src/core/call.ts';
import type { Lease, LeaseBook } from '../src/store/lease-book.ts';
import type { Grant, TokenVault } from '../src/store/token-vault.ts';

export interface MemoryVault extends TokenVault {
  readonly grants: Map<string, Grant>;
}

const keyOf = (serverUrl: string, principal: string) => JSON.stringify([serverUrl, principal]);

/** Keeps tokens in memory, by the rules of `TokenVault`. */
export function memoryVault(...stored: readonly Grant[]): MemoryVault {
  const grants = new Map(stored.map((grant) => [keyOf(grant.serverUrl, grant.principal), grant]));
  const epochs = new Map<string, number>();
  const dpopKeys = new Map<string, JsonObject>();
  return {
    grants,
    find: async (serverUrl, principal) => grants.get(keyOf(serverUrl, principal)),
    async put(grant, epoch) {
      const key = keyOf(grant.serverUrl, grant.principal);
      if ((epochs.get(key) ?? 0) > epoch) return false;
      epochs.set(key, epoch);
      grants.set(key, grant);
      return true;
    },
    remove: async (serverUrl, principal) => grants.delete(keyOf(serverUrl, principal)),
    labels: async () => [...grants.values()].map((grant) => ({ ...grant, isRenewable: !!grant.refreshToken })),
    async dpopKey({ issuer, principal }, generate) {
      const key = keyOf(issuer, principal);
      const found = dpopKeys.get(key) ?? generate();
      dpopKeys.set(key, found);
      return found;
    },
  };
}

/** Keeps leases in memory. Time is a parameter. */
export function memoryLeases(clock: () => number): LeaseBook & { readonly held: Map<string, Lease> } {
  const held = new Map<string, Lease>();
  let epoch = 0;
  return {
    held,
    async acquire(name, ttlMs) {
      const other = held.get(name);
      if (other && other.expiresAt > clock()) return undefined;
      const lease = { name, holder: `h${++epoch}`, epoch, expiresAt: clock() + ttlMs };
      held.set(name, lease);
      return lease;
    },
    async release(lease) {
      if (held.get(lease.name)?.holder === lease.holder) held.delete(lease.name);
    },
  };
}
