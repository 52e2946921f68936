import type { ColumnType } from 'kysely';
import type { AuditPhase } from './audit-log.ts';

/** A stored audit record. `detail` is the JSON text that was hashed. */
export interface AuditRow {
  readonly call_id: string;
  readonly phase: AuditPhase;
  readonly at: number;
  readonly caller: string;
  readonly via: string;
  readonly name: string;
  readonly detail: string;
}

/** An audit row with its place in the chain of its segment. */
export interface SealedRow extends AuditRow {
  readonly segment: string;
  readonly sequence: number;
  readonly hash: string;
  /** For the first record of a segment: the newest record that its writer found. */
  readonly link: string | null;
}

export interface SpanRow {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string | null;
  readonly name: string;
  readonly server: string | null;
  readonly started_at: number;
  readonly duration_ms: number;
  readonly outcome: string;
  readonly attributes: string;
  /** The agent among `attributes`. */
  readonly agent: string | null;
}

export interface ServerRow {
  readonly server: string;
  readonly abilities: number;
  readonly signature: string;
  readonly era: 'legacy' | 'modern';
  readonly transport: 'http' | 'sse' | null;
  readonly instructions: string | null;
  readonly extensions: string | null;
  readonly tools: string;
  readonly resources: string;
  readonly templates: string;
  readonly prompts: string;
  readonly at: number;
}

/** Counts of one tool, or of all tools of a server where `tool` is empty. */
export interface MetricsBookRow {
  readonly server: string;
  readonly signature: string;
  readonly tool: string;
  readonly total_calls: number;
  readonly tool_errors: number;
  readonly error_count: number;
  readonly avg_latency_ms: number;
  readonly last_call_time: number;
}

export interface ApiKeyRow {
  readonly name: string;
  readonly sha256: string;
  readonly roles: string;
  readonly profile: string | null;
  readonly created_at: number;
  /** 1 if a person is behind the key, else 0. */
  readonly person: number;
}

/** The id that orders rows as they were committed. The database assigns it. */
interface Counted {
  readonly id: ColumnType<number | string, never, never>;
}

/** The tables of every database, for queries that all of them share. */
export interface Tables {
  audit: SealedRow & Counted;
  spans: SpanRow & Counted;
  servers: ServerRow;
  metrics: MetricsBookRow;
  api_keys: ApiKeyRow;
}
