import type { Timer } from '../../core/time.ts';
import type { Lease, LeaseBook } from '../../store/lease-book.ts';

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

/** Names this process, and tests whether another one of this machine has ended. */
export interface ProcessNames {
  /** Returns a new name of this process. */
  owner(): string;
  /** Tests whether a process of this machine is dead. A process of another machine is not. */
  isOwnerDead(owner: string): boolean;
}

/** Shows other processes that this one is alive while it runs approved calls. */
export interface Runner {
  /** Begins a call. Returns the name that is stored with the use of its approval, once other processes can check it. */
  begin(): Promise<string>;
  end(): void;
  /** Tests whether the process of this name is alive. One on another machine may seem so for 30 s after a crash. */
  isAlive(name: string): Promise<boolean>;
  close(): void;
}

export interface RunnerOptions {
  readonly leases: LeaseBook;
  readonly processes: ProcessNames;
  readonly timer: Timer;
}

/**
 * Holds a lease while calls run, and for up to 10 s after the last one: its closing record is written by then. A process
 * that ends without closing loses the lease after 30 s.
 */
export function approvalRunner({ leases, processes, timer }: RunnerOptions): Runner {
  let inFlight = 0;
  let current: Promise<Lease> | undefined;
  let cancel = () => {};

  async function acquire(): Promise<Lease> {
    const lease = await leases.acquire(leaseOf(processes.owner()), LEASE_MS);
    if (!lease) throw new Error('Another process has the name of this one.');
    cancel = timer(RENEW_MS, () => void keep(lease));
    return lease;
  }

  async function keep(lease: Lease): Promise<void> {
    if (inFlight === 0) {
      current = undefined; // The next call takes a lease of another name.
      await leases.release(lease).catch(() => {}); // It is over soon.
      return;
    }
    let kept = lease;
    cancel = timer(RENEW_MS, () => void keep(kept));
    const again = await renewed(lease).catch(() => undefined); // The next timer tries again.
    if (!again) return;
    kept = again;
    current = Promise.resolve(again);
  }

  /** Renews a lease. One that was removed after a standstill of this process is taken again, with the same name. */
  const renewed = async (lease: Lease): Promise<Lease | undefined> =>
    (await leases.renew(lease, LEASE_MS)) ? undefined : leases.acquire(lease.name, LEASE_MS);

  return {
    async begin() {
      inFlight++;
      current ??= acquire();
      const taking = current;
      try {
        return (await taking).name.slice(PREFIX.length);
      } catch (thrown) {
        inFlight--;
        if (current === taking) current = undefined;
        throw thrown;
      }
    },
    end() {
      inFlight--;
    },
    async isAlive(name) {
      return !processes.isOwnerDead(name) && leases.isHeld(leaseOf(name));
    },
    close() {
      cancel();
      if (inFlight === 0) void current?.then((lease) => leases.release(lease)).catch(() => {}); // It is over soon.
    },
  };
}

const PREFIX = 'approvals.runner ';
const leaseOf = (name: string) => PREFIX + name;
