import type { Clock } from '../../core/time.ts';
import type { Store } from '../../store/store.ts';
import type { AuthParts } from '../../upstream/auth/auth-parts.ts';
import type { ActiveConfig } from '../active-config.ts';
import type { Environment } from '../heddle-options.ts';

export interface AuthPartsOptions {
  readonly active: () => Pick<ActiveConfig, 'config'>;
  readonly store: Pick<Store, 'vault' | 'clients' | 'signIns' | 'leases'>;
  /** The wall clock: expiry times are compared by other machines, too. */
  readonly wallClock: Clock;
  /** The variables that name a proxy. */
  readonly env: Environment;
}

/** Returns the parts that all credentials of a Heddle share. Loads nothing until a credential is used. */
export function authPartsOf({ active, store, wallClock, env }: AuthPartsOptions): AuthParts {
  const { vault, clients, signIns, leases } = store;
  const settings = () => active().config.settings;
  return {
    ...{ vault, clients, signIns, leases },
    clock: wallClock,
    renewals: new Set(),
    async fetch(address, options) {
      const { guardedFetch } = await import('../../egress/guarded-fetch.ts');
      return guardedFetch(address, { env, ...options });
    },
    publicUrl: () => settings().gateway.publicUrl,
    xaa: () => settings().xaa,
  };
}
