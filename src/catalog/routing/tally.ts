import type { Metrics } from '../../core/records/metrics.ts';
import type { SavedMetrics } from '../../store/metrics-book.ts';

const NEWEST_COUNTS = 0.1;
// Failures lose half of their weight in this time, so that a server that is never called can recover.
const HALF_LIFE_MS = 5 * 60_000;

/** Counts the ends of the calls of one tool, and adds them to its server. */
export class Tally implements Metrics {
  readonly #server: Tally | undefined;
  readonly #onCount: () => void;
  totalCalls = 0;
  toolErrors = 0;
  errorCount = 0;
  avgLatencyMs = 0;
  lastCallTime = 0;
  #failing = 0;

  constructor(onCount: () => void, server?: Tally) {
    this.#onCount = onCount;
    this.#server = server;
  }

  /** The share of calls that the server answered, also with `isError`. Routing avoids servers that do not answer. */
  get successRate(): number {
    return this.totalCalls === 0 ? 1 : 1 - this.errorCount / this.totalCalls;
  }

  /** Returns the success rate for routing: the newest call has weight 0.1, and failures decay with time. */
  recentRate(now: number): number {
    return 1 - this.#failingAt(now);
  }

  answered(latencyMs: number, isError: boolean, at: number): void {
    const isFirst = this.totalCalls === this.errorCount;
    this.avgLatencyMs = isFirst ? latencyMs : this.avgLatencyMs + NEWEST_COUNTS * (latencyMs - this.avgLatencyMs);
    if (isError) this.toolErrors++;
    this.#count(at, 0);
    this.#server?.answered(latencyMs, isError, at);
  }

  failed(at: number): void {
    this.errorCount++;
    this.#count(at, 1);
    this.#server?.failed(at);
  }

  /** Continues from the saved counts of an earlier process. */
  restore({ totalCalls, toolErrors, errorCount, avgLatencyMs, lastCallTime }: SavedMetrics): void {
    Object.assign(this, { totalCalls, toolErrors, errorCount, avgLatencyMs, lastCallTime });
    this.#failing = 1 - this.successRate;
  }

  /** Returns the current values as a plain object. */
  snapshot(): Metrics {
    const { totalCalls, successRate, toolErrors, errorCount, avgLatencyMs, lastCallTime } = this;
    return { totalCalls, successRate, toolErrors, errorCount, avgLatencyMs, lastCallTime };
  }

  #failingAt(now: number): number {
    return this.#failing === 0 ? 0 : this.#failing * 0.5 ** (Math.max(0, now - this.lastCallTime) / HALF_LIFE_MS);
  }

  #count(at: number, failed: 0 | 1): void {
    const before = this.#failingAt(at);
    this.#failing = before + NEWEST_COUNTS * (failed - before);
    this.totalCalls++;
    this.lastCallTime = at;
    this.#onCount();
  }
}
