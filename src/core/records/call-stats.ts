/** Statistics of the calls of one tool, server or agent in a period. */
export interface CallStats {
  /** The name of the tool, server or agent. */
  readonly name: string;
  /** Calls that have ended; a call with several continuations counts once. */
  readonly totalCalls: number;
  /**
   * The share of calls that ended neither with an error code nor with a result with `isError`, from 0 to 1.
   * `successRate` of `Metrics`, by which pools choose, counts `isError` as success.
   */
  readonly successRate: number;
  readonly errorCount: number;
  /** Results with `isError`. They are not counted in `errorCount`. */
  readonly toolErrors: number;
  /** Results that do not match the output schema of their tool. They are not counted in `errorCount`. */
  readonly outputMismatches: number;
  readonly avgLatencyMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** In milliseconds since the epoch. */
  readonly lastCallTime: number;
  /** At most five, the most frequent first; `tool-error` and `output-mismatch` are among them. */
  readonly topErrors: readonly { readonly code: string; readonly count: number }[];
}

/** Returns the number of failed calls: those with an error code and those with `isError`. */
export const failedCalls = ({ errorCount, toolErrors }: Pick<CallStats, 'errorCount' | 'toolErrors'>): number =>
  errorCount + toolErrors;
