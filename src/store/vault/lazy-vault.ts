import type { Vault } from './open-vault.ts';

/** Runs one operation of the vault. */
export type WithVault = <T>(work: (vault: Vault) => Promise<T>) => Promise<T>;

/** The parts that hold credentials, loaded on first use: most commands need none. */
export function lazyVault(use: WithVault): Vault {
  return {
    vault: {
      find: (serverUrl, principal) => use(({ vault }) => vault.find(serverUrl, principal)),
      put: (grant, epoch) => use(({ vault }) => vault.put(grant, epoch)),
      remove: (serverUrl, principal) => use(({ vault }) => vault.remove(serverUrl, principal)),
      dpopKey: (owner, generate) => use(({ vault }) => vault.dpopKey(owner, generate)),
      version: () => use(({ vault }) => vault.version()),
      serversOf: (principal) => use(({ vault }) => vault.serversOf(principal)),
      labels: () => use(({ vault }) => vault.labels()),
    },
    clients: {
      find: (issuer) => use(({ clients }) => clients.find(issuer)),
      put: (registration) => use(({ clients }) => clients.put(registration)),
      remove: (issuer, clientId) => use(({ clients }) => clients.remove(issuer, clientId)),
    },
    signIns: {
      begin: (signIn) => use(({ signIns }) => signIns.begin(signIn)),
      take: (state, owner) => use(({ signIns }) => signIns.take(state, owner)),
      pending: (serverUrl, principal) => use(({ signIns }) => signIns.pending(serverUrl, principal)),
      issueTicket: (ticket) => use(({ signIns }) => signIns.issueTicket(ticket)),
      readTicket: (ticket) => use(({ signIns }) => signIns.readTicket(ticket)),
      takeTicket: (ticket) => use(({ signIns }) => signIns.takeTicket(ticket)),
      abandon: (principal) => use(({ signIns }) => signIns.abandon(principal)),
      refuse: (refusal) => use(({ signIns }) => signIns.refuse(refusal)),
      refusal: (serverUrl, principal) => use(({ signIns }) => signIns.refusal(serverUrl, principal)),
      forgive: (serverUrl, principal) => use(({ signIns }) => signIns.forgive(serverUrl, principal)),
    },
    leases: {
      acquire: (name, ttlMs) => use(({ leases }) => leases.acquire(name, ttlMs)),
      isHeld: (name) => use(({ leases }) => leases.isHeld(name)),
      renew: (lease, ttlMs) => use(({ leases }) => leases.renew(lease, ttlMs)),
      release: (lease) => use(({ leases }) => leases.release(lease)),
    },
    rekey: () => use((vault) => vault.rekey()),
  };
}
