import type { JsonObject } from '../core/call.ts';
import type { Later } from './audit-log.ts';

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId?: string;
  /** The public name where there is one, else what the caller wrote. */
  readonly name: string;
  /** Who answered, or who would have. */
  readonly server?: string;
  readonly startedAt: number;
  readonly durationMs: number;
  /** `ok`, `tool-error`, or the ErrorCode the call ended with; `input-required` or `working` where it did not end. */
  readonly outcome: string;
  readonly attributes: JsonObject;
}

export interface TraceLog {
  /** Queued like an audit record, and dropped when it cannot be written: a trace is never worth a call. */
  append(span: Later<Span>): void;
  get(traceId: string): Promise<readonly Span[]>;
  /** How each name, or each server, did since then; the most called first. Names that nothing has are left out. */
  stats(since: number, per?: 'name' | 'server'): Promise<readonly SpanStats[]>;
}

export interface SpanStats {
  /** Of the tool, or of the server. */
  readonly name: string;
  /** Those that have ended, however many rounds they took. */
  readonly totalCalls: number;
  /** The share of calls that did not end with an error code. */
  readonly successRate: number;
  readonly errorCount: number;
  /** Answers in which the tool itself says that it failed; they are no errors of the way to it. */
  readonly toolErrors: number;
  readonly avgLatencyMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly lastCallTime: number;
  /** At most five, the most frequent first; `tool-error` among them. */
  readonly topErrors: readonly { readonly code: string; readonly count: number }[];
}
