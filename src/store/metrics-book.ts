/** What was counted of the calls of one tool, or of a server as a whole. */
export interface SavedMetrics {
  readonly server: string;
  /** Empty for the server as a whole. */
  readonly tool: string;
  readonly totalCalls: number;
  readonly toolErrors: number;
  readonly errorCount: number;
  readonly avgLatencyMs: number;
  readonly lastCallTime: number;
}

/** Lets what was learnt of servers be known after a restart, and to all who share the store. */
export interface MetricsBook {
  all(): Promise<readonly SavedMetrics[]>;
  /** Adds to what is counted; averages take the place of those before. All rows or none. */
  add(rows: readonly SavedMetrics[]): Promise<void>;
  /** Drops what was counted of a server and its tools. */
  forget(server: string): Promise<void>;
}
