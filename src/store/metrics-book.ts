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

/** Keeps call counts over restarts, for all processes on one store. */
export interface MetricsBook {
  all(): Promise<readonly SavedMetrics[]>;
  /** Adds to the counts, and replaces averages. Writes all rows or none. */
  add(rows: readonly SavedMetrics[]): Promise<void>;
}
