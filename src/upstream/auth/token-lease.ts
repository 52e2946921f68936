import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { HeddleError } from '../../core/errors.ts';
import type { Lease, LeaseBook } from '../../store/lease-book.ts';

/** The lifetime of a lease. A killed process blocks other writers of the same tokens for this time. */
export const TOKEN_LEASE_MS = 15_000;

/** The time limit of the work under a lease. It ends before the lease does, so that two processes never overlap. */
export const TOKEN_WORK_MS = 12_000;

const POLL_MS = 50;

/** Returns the name of the lease that every writer of the tokens of a principal at a server holds. */
export function tokenLeaseName(serverUrl: string, principal: string): string {
  return `tokens:${createHash('sha256')
    .update(JSON.stringify([serverUrl, principal]))
    .digest('hex')}`;
}

interface LeasedWork<T> {
  readonly leases: LeaseBook;
  readonly serverUrl: string;
  readonly principal: string;
  readonly signal?: AbortSignal;
  /** Runs after each unsuccessful attempt to take the lease. Ends the wait by returning a value. */
  onWaiting?(): Promise<T | undefined>;
  work(lease: Lease, signal: AbortSignal): Promise<T>;
}

/** Runs work while no other process or replica writes the tokens of this principal at this server. */
export async function withTokenLease<T>(options: LeasedWork<T>): Promise<T> {
  const { leases, serverUrl, principal, signal } = options;
  const name = tokenLeaseName(serverUrl, principal);
  const end = performance.now() + 2 * TOKEN_LEASE_MS;
  for (;;) {
    const lease = await leases.acquire(name, TOKEN_LEASE_MS);
    if (lease) return await runUnder(lease, options);
    const found = await options.onWaiting?.();
    if (found !== undefined) return found;
    if (performance.now() > end) throw stillLeased(serverUrl);
    await delay(POLL_MS, undefined, { signal });
  }
}

async function runUnder<T>(lease: Lease, { leases, serverUrl, work, signal }: LeasedWork<T>): Promise<T> {
  const limit = AbortSignal.timeout(TOKEN_WORK_MS);
  try {
    return await work(lease, signal ? AbortSignal.any([signal, limit]) : limit);
  } catch (error) {
    throw limit.aborted ? tooSlow(serverUrl, error) : error;
  } finally {
    // A lease that cannot be released ends by itself. The work is done in any case.
    await leases.release(lease).catch(() => {});
  }
}

/** The error of token work that its own time limit ended: no caller cancelled it. */
export const tooSlow = (serverUrl: string, cause: unknown) =>
  new HeddleError('UPSTREAM_TIMEOUT', `Renewing the tokens for ${serverUrl} took too long.`, { cause });

const stillLeased = (serverUrl: string) =>
  new HeddleError('UPSTREAM_TIMEOUT', `Other processes kept renewing the tokens for ${serverUrl} for too long.`, {
    fix: 'Call again.',
  });
