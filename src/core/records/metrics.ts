/** Counts and latency of the calls of a server or of one tool. */
export type Metrics = {
  /** Calls with a result or a failure. A call that its caller cancelled does not count. */
  readonly totalCalls: number;
  /**
   * The share of calls with a result, from 0 to 1; 1 before the first call. A result with `isError` is a success here,
   * since the server answered. `successRate` of `CallStats` counts it as failed.
   */
  readonly successRate: number;
  /** Results with `isError`. They count as success. */
  readonly toolErrors: number;
  /** Calls that ended with a transport error, a protocol error or a timeout. */
  readonly errorCount: number;
  /** The moving average over the results, with weight 0.1 for the newest; 0 before the first. */
  readonly avgLatencyMs: number;
  /** In milliseconds since the epoch; 0 before the first call. */
  readonly lastCallTime: number;
};

export interface MetricsRow extends Metrics {
  readonly server: string;
  /** The server's own name of the tool; absent in the row of the whole server. */
  readonly tool?: string;
}
