/** A lease: for its time one process alone does what its name stands for. */
export interface Lease {
  readonly name: string;
  /** Random, so that only its holder can release it. */
  readonly holder: string;
  /** Grows with every lease, across all names. A write with an older epoch is rejected. */
  readonly epoch: number;
  readonly expiresAt: number;
}

/**
 * Leases across processes and replicas. On Postgres the clock of the database decides; processes on one SQLite file
 * share the clock of their machine.
 */
export interface LeaseBook {
  /** Takes a lease for at most 10 minutes; undefined while another holder has it. */
  acquire(name: string, ttlMs: number): Promise<Lease | undefined>;
  /** Tests whether a lease is held, without taking it. */
  isHeld(name: string): Promise<boolean>;
  /** Extends a lease. Returns false if it was removed, or is held by another holder by now. */
  renew(lease: Lease, ttlMs: number): Promise<boolean>;
  /** Releases a lease early. Does nothing if it is held by another holder by now. */
  release(lease: Lease): Promise<void>;
}
