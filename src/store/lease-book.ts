/** A lease: for its time one process alone does what its name stands for. */
export interface Lease {
  readonly name: string;
  /** Random, so that only its holder can release it. */
  readonly holder: string;
  /** Grows with every lease of this name. A write with an older epoch is rejected. */
  readonly epoch: number;
  readonly expiresAt: number;
}

/** Leases across processes and replicas. The clock of the database decides, not that of a process. */
export interface LeaseBook {
  /** Takes a lease; undefined while another holder has it. */
  acquire(name: string, ttlMs: number): Promise<Lease | undefined>;
  /** Releases a lease early. Does nothing if it is held by another holder by now. */
  release(lease: Lease): Promise<void>;
}
