/** How a server, or one of its tools, has done so far. */
export type Metrics = {
  /** Calls that were answered or failed; one that its caller gave up is neither. */
  readonly totalCalls: number;
  /** The part of them that was answered, from 0 to 1; 1 before the first call. */
  readonly successRate: number;
  /** Answers that say that the tool failed. They are answers all the same. */
  readonly toolErrors: number;
  /** Calls that the line, the protocol or the deadline ended. */
  readonly errorCount: number;
  /** A moving average over the answers, the newest counting for a tenth; 0 before the first. */
  readonly avgLatencyMs: number;
  /** In milliseconds since the epoch; 0 before the first call. */
  readonly lastCallTime: number;
};

export interface MetricsRow extends Metrics {
  readonly server: string;
  /** As its server calls it; absent in the row of the server as a whole. */
  readonly tool?: string;
}
