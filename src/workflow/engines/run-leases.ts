import { abortable } from '../../core/async/abortable.ts';
import { limiter } from '../../core/async/limiter.ts';
import { repeatEvery, type Timer } from '../../core/time.ts';
import type { Lease, LeaseBook } from '../../store/lease-book.ts';
import { RunInterrupted } from '../run/durable.ts';

/** A dead process loses its runs after this time. A takeover has to be complete within 15 s. */
export const LEASE_MS = 9_000;
const RENEW_MS = LEASE_MS / 3;
const RETRY_MS = 250;
const RENEWED_AT_ONCE = 8;

/** A lease of this process, renewed until it is released. */
export interface KeptLease {
  readonly lease: Lease;
  /** Aborts when another process has taken the lease. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** Keeps the leases of one process. */
export interface RunLeases {
  /** Waits until no other process has the lease, then takes it. Rejects if the signal aborts. */
  take(name: string, signal: AbortSignal): Promise<KeptLease>;
  close(): void;
}

/** Renews all leases of a process by one timer. */
export function openRunLeases(leases: LeaseBook, timer: Timer): RunLeases {
  const kept = new Map<Lease, AbortController>();
  const limited = limiter(RENEWED_AT_ONCE);
  let renewing = false;

  async function renew(lease: Lease, lost: AbortController): Promise<void> {
    if (!kept.has(lease)) return;
    // While the store does not answer, the fence alone protects the run.
    const isOurs = await leases.renew(lease, LEASE_MS).catch(() => true);
    if (isOurs || !kept.delete(lease)) return;
    lost.abort(new RunInterrupted('Another process has taken over the run.'));
  }
  async function renewAll(): Promise<void> {
    if (renewing) return;
    renewing = true;
    await Promise.all([...kept].map(([lease, lost]) => limited(() => renew(lease, lost))));
    renewing = false;
  }
  const stop = repeatEvery(timer, RENEW_MS, () => void renewAll());

  async function acquire(name: string, signal: AbortSignal): Promise<Lease> {
    for (;;) {
      const lease = await abortable(leases.acquire(name, LEASE_MS), signal);
      if (lease) return lease;
      await abortable(new Promise<void>((resolve) => void timer(RETRY_MS, resolve)), signal);
    }
  }
  return {
    async take(name, signal) {
      const lease = await acquire(name, signal);
      const lost = new AbortController();
      kept.set(lease, lost);
      return {
        lease,
        lost: lost.signal,
        async release() {
          kept.delete(lease);
          await leases.release(lease);
        },
      };
    },
    close: stop,
  };
}
