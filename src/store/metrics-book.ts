/** The counts of calls to one tool, or to all tools of a server. */
export interface SavedMetrics {
  readonly server: string;
  /** The signature of the server's command or address: another one under the same name is another server. */
  readonly signature: string;
  /** Empty for the server as a whole. */
  readonly tool: string;
  readonly totalCalls: number;
  readonly toolErrors: number;
  readonly errorCount: number;
  readonly avgLatencyMs: number;
  readonly lastCallTime: number;
}

/** The signatures under one name whose counts are kept. A program may register ever new servers under one name. */
export const MAX_SIGNATURES = 20;

/** Keeps call counts over restarts, for all processes on one store. */
export interface MetricsBook {
  all(): Promise<readonly SavedMetrics[]>;
  /**
   * Adds to the counts, and replaces averages. Writes all rows or none. Of the servers under one name it keeps the 20 that
   * were called last.
   */
  add(rows: readonly SavedMetrics[]): Promise<void>;
}
