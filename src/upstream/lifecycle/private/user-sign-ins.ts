import { abortable } from '../../../core/async/abortable.ts';
import type { ConnectionUser } from '../../../core/call/private-user.ts';
import { vaultPrincipal } from '../../../core/call/vault-principal.ts';
import { HeddleError } from '../../../core/errors.ts';
import type { Timer } from '../../../core/time.ts';
import type { PrivateConnector } from './connect-for.ts';
import type { PrivateConnections } from './private-connections.ts';

/** The sign-ins of callers at servers with per-user credentials. */
export interface UserSignIns {
  /** Takes new or removed credentials of a vault principal: its connections are replaced. */
  credentialChanged(name: string, principal: string, change: 'stored' | 'removed'): Promise<void>;
  /** Settles when the caller has signed in, in any process. Rejects when `signal` aborts, or for another failure. */
  signedIn(name: string, user: ConnectionUser, signal: AbortSignal): Promise<void>;
}

interface SignInServer {
  readonly privately: PrivateConnector;
  disconnect(): Promise<void>;
}

export interface UserSignInsOptions {
  readonly find: (name: string) => SignInServer | undefined;
  /** Opens the connection of a user and waits for its lists. */
  readonly open: (name: string, user: ConnectionUser, signal: AbortSignal) => Promise<unknown>;
  readonly privates: Pick<PrivateConnections, 'renew'>;
  readonly timer: Timer;
  /** Aborted when all servers close. */
  readonly closing: AbortSignal;
}

// Another process may have stored the token: only the vault knows.
const POLL_MS = 1000;

export function userSignIns({ find, open, privates, timer, closing }: UserSignInsOptions): UserSignIns {
  const waiting = new Set<() => void>();

  /** Settles after the poll interval, or when a credential has changed in this process. */
  async function changed(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = timer(POLL_MS, resolve);
    waiting.add(resolve);
    try {
      await abortable(promise, signal);
    } finally {
      waiting.delete(resolve);
      cancel();
    }
  }

  /** Connects users again. Those that have not signed in keep the tool for it. */
  async function reopen(name: string, users: readonly ConnectionUser[]): Promise<void> {
    await Promise.allSettled(users.map((user) => open(name, user, closing)));
  }

  return {
    async credentialChanged(name, principal, change) {
      const server = find(name);
      const privately = server?.privately;
      // Shared tokens are read again for the next connection.
      if (!privately?.users && change === 'removed') return server?.disconnect();
      const known = privately?.users?.of(principal) ?? [];
      // The calls in flight end on the connections that they began on.
      if (privately) for (const user of known) void privates.renew(privately, user);
      await reopen(name, known);
      for (const wake of waiting) wake();
    },
    async signedIn(name, user, signal) {
      const ended = AbortSignal.any([signal, closing]);
      for (;;) {
        try {
          await open(name, user, ended);
          break;
        } catch (thrown) {
          if (HeddleError.from(thrown).code !== 'AUTH_NEEDED') throw thrown;
        }
        await changed(ended);
      }
      void reopen(name, find(name)?.privately.users?.waiting(vaultPrincipal(user.caller)) ?? []);
    },
  };
}
