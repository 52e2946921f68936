import { BoundedMap } from '../../../core/bounded-map.ts';
import { type ConnectionUser, ownerOf, userKey } from '../../../core/call/private-user.ts';
import { HeddleError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/time.ts';
import type { ServerPlan } from '../plan-server.ts';

/** The server whose private connections fail. */
export interface FailingOwner {
  readonly plan: Pick<ServerPlan, 'reconnect' | 'credentials'>;
}

interface Failure {
  readonly thrown: unknown;
  readonly at: number;
}

/** The failed openings of private connections. They are not repeated within `reconnect.delayMs`. */
export interface OpenFailures {
  /** Throws the last failure of this user, if it is that recent. */
  check(owner: FailingOwner, user: ConnectionUser): void;
  add(owner: FailingOwner, user: ConnectionUser, thrown: unknown): void;
  delete(owner: FailingOwner, user: ConnectionUser): void;
}

const MAX_FAILURES = 1000;

export function openFailures(clock: Clock): OpenFailures {
  const byOwner = new WeakMap<FailingOwner, Map<string, Failure>>();
  return {
    check(owner, user) {
      const failed = byOwner.get(owner)?.get(keyOf(owner, user));
      if (failed && clock() - failed.at < owner.plan.reconnect.delayMs) throw failed.thrown;
    },
    add(owner, user, thrown) {
      if (isRemembered(owner, thrown)) return;
      const failures = byOwner.get(owner) ?? new BoundedMap<string, Failure>(MAX_FAILURES);
      byOwner.set(owner, failures.set(keyOf(owner, user), { thrown, at: clock() }));
    },
    delete: (owner, user) => void byOwner.get(owner)?.delete(keyOf(owner, user)),
  };
}

/** Returns one key for all users of a server, or one per user: a refused credential says nothing about another user. */
const keyOf = ({ plan }: FailingOwner, user: ConnectionUser): string =>
  plan.credentials === 'user' ? userKey(ownerOf(user)) : '';

/** Tests whether the credential itself remembers the failure. A sign-in ends it at any time. */
const isRemembered = ({ plan }: FailingOwner, thrown: unknown): boolean =>
  plan.credentials === 'user' && HeddleError.is(thrown) && thrown.code === 'AUTH_NEEDED';
