/** The amount that a caller has spent in one window. */
export interface Spending {
  readonly caller: string;
  /** `hour 2026-11-17T09`, `day 2026-11-17`, `month 2026-11`; UTC. */
  readonly window: string;
  readonly amount: number;
}

/** The largest amount of a window. */
export interface SpendingLimit {
  readonly window: string;
  readonly limit: number;
}

/** Stores the cost of calls per caller and calendar window, shared by all processes. */
export interface SpendingBook {
  /** Returns the amounts of a caller in these windows. */
  spent(caller: string, windows: readonly string[]): Promise<readonly Spending[]>;
  /** Returns the amounts of all callers in these windows. */
  all(windows: readonly string[]): Promise<readonly Spending[]>;
  /**
   * Adds an amount to each window, unless one of them would exceed its limit. Returns the window that refuses it.
   * A negative amount releases a reservation.
   */
  reserve(
    caller: string,
    amount: number,
    windows: readonly SpendingLimit[],
  ): Promise<{ readonly refusedBy?: string; readonly spent: readonly Spending[] }>;
}
