import type { JsonObject } from '../core/call.ts';
import type { CallStats } from '../core/records/call-stats.ts';
import type { Later } from './audit-log.ts';

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId?: string;
  /** The public name if the name was resolved, else the name that the caller wrote. */
  readonly name: string;
  /** The server that answered, or that was chosen. */
  readonly server?: string;
  readonly startedAt: number;
  readonly durationMs: number;
  /**
   * `ok`, `tool-error`, `output-mismatch`, or the ErrorCode of the failure; `input-required`, `waiting` or `working` for an
   * unfinished call.
   */
  readonly outcome: string;
  readonly attributes: JsonObject;
}

/** The column by which calls are counted. Calls without a value in it are left out. */
export type StatsColumn = 'name' | 'server' | 'agent';

export interface TraceLog {
  /** Queues a span. A span that cannot be written is dropped, and its call goes on. */
  append(span: Later<Span>): void;
  get(traceId: string): Promise<readonly Span[]>;
  /** Reads statistics per name, server or agent since then, the most called first. Unknown names are left out. */
  stats(since: number, per?: StatsColumn): Promise<readonly CallStats[]>;
}
