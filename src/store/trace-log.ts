import type { JsonObject } from '../core/call.ts';

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId?: string;
  readonly name: string;
  readonly startedAt: number;
  readonly durationMs: number;
  /** `ok`, `tool-error`, or the ErrorCode the call ended with. */
  readonly outcome: string;
  readonly attributes: JsonObject;
}

export interface TraceLog {
  /** Queued like an audit record, and dropped when it cannot be written: a trace is never worth a call. */
  append(span: Span): void;
  get(traceId: string): Promise<readonly Span[]>;
  stats(since: number): Promise<readonly SpanStats[]>;
}

export interface SpanStats {
  readonly name: string;
  readonly totalCalls: number;
  readonly errorCount: number;
  readonly avgLatencyMs: number;
  readonly lastCallTime: number;
}
