import type { Metrics } from '../core/metrics.ts';
import type { SavedMetrics } from '../store/metrics-book.ts';

const NEWEST_COUNTS = 0.1;

/** Counts how the calls of one tool end, and with them those of its server. */
export class Tally implements Metrics {
  readonly #server: Tally | undefined;
  readonly #onCount: () => void;
  totalCalls = 0;
  toolErrors = 0;
  errorCount = 0;
  avgLatencyMs = 0;
  lastCallTime = 0;

  constructor(onCount: () => void, server?: Tally) {
    this.#onCount = onCount;
    this.#server = server;
  }

  get successRate(): number {
    return this.totalCalls === 0 ? 1 : 1 - this.errorCount / this.totalCalls;
  }

  answered(latencyMs: number, isError: boolean, at: number): void {
    const isFirst = this.totalCalls === this.errorCount;
    this.avgLatencyMs = isFirst ? latencyMs : this.avgLatencyMs + NEWEST_COUNTS * (latencyMs - this.avgLatencyMs);
    if (isError) this.toolErrors++;
    this.#count(at);
    this.#server?.answered(latencyMs, isError, at);
  }

  failed(at: number): void {
    this.errorCount++;
    this.#count(at);
    this.#server?.failed(at);
  }

  /** Goes on from what was counted in an earlier time. */
  restore({ totalCalls, toolErrors, errorCount, avgLatencyMs, lastCallTime }: SavedMetrics): void {
    Object.assign(this, { totalCalls, toolErrors, errorCount, avgLatencyMs, lastCallTime });
  }

  /** As it is now, for others to keep. */
  snapshot(): Metrics {
    const { totalCalls, successRate, toolErrors, errorCount, avgLatencyMs, lastCallTime } = this;
    return { totalCalls, successRate, toolErrors, errorCount, avgLatencyMs, lastCallTime };
  }

  #count(at: number): void {
    this.totalCalls++;
    this.lastCallTime = at;
    this.#onCount();
  }
}
