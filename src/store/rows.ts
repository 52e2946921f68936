import { ROLES } from '../core/call/caller.ts';
import { extensionsIn } from '../core/call/extensions.ts';
import type { JsonObject, Role } from '../core/call.ts';
import { parseKeys } from '../core/escaped-keys.ts';
import type { StoredApiKey } from '../core/records/api-key.ts';
import type { AuditEntry } from '../core/records/audit-entry.ts';
import type { AuditRecord } from './audit-log.ts';
import type { SavedMetrics } from './metrics-book.ts';
import type { CachedServer } from './server-book.ts';
import type { ApiKeyRow, AuditRow, MetricsBookRow, SealedRow, ServerRow, SpanRow } from './tables.ts';
import type { Span } from './trace-log.ts';

/** Converts a record to a row that every database stores and returns unchanged. */
export function toAuditRow(record: AuditRecord): AuditRow {
  return {
    call_id: storable(record.callId),
    phase: record.phase,
    at: finite(record.at),
    caller: storable(record.caller),
    via: storable(record.via),
    name: storable(record.name),
    detail: JSON.stringify(record.detail),
  };
}

export function fromAuditRow(row: AuditRow): AuditRecord {
  return {
    callId: row.call_id,
    phase: row.phase,
    at: row.at,
    caller: row.caller,
    via: row.via,
    name: row.name,
    detail: toObject(row.detail),
  };
}

/** Converts a row with its place in the chain. */
export function toAuditEntry(row: SealedRow): AuditEntry {
  const { segment, sequence, hash, link } = row;
  return { segment, sequence, hash, ...(link !== null && { link }), ...fromAuditRow(row) };
}

export function toSpanRow(span: Span): SpanRow {
  const { agent } = span.attributes;
  return {
    trace_id: storable(span.traceId),
    span_id: storable(span.spanId),
    parent_id: span.parentId === undefined ? null : storable(span.parentId),
    name: storable(span.name),
    server: span.server === undefined ? null : storable(span.server),
    started_at: finite(span.startedAt),
    duration_ms: finite(span.durationMs),
    outcome: storable(span.outcome),
    attributes: JSON.stringify(span.attributes),
    agent: typeof agent === 'string' ? storable(agent) : null,
  };
}

export function fromSpanRow(row: Omit<SpanRow, 'agent'>): Span {
  return {
    traceId: row.trace_id,
    spanId: row.span_id,
    ...(row.parent_id === null ? {} : { parentId: row.parent_id }),
    name: row.name,
    ...(row.server === null ? {} : { server: row.server }),
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    outcome: row.outcome,
    attributes: toObject(row.attributes),
  };
}

export function toServerRow(memory: CachedServer): ServerRow {
  return {
    server: storable(memory.server),
    abilities: finite(memory.capabilitySet),
    signature: storable(memory.signature),
    era: memory.era,
    transport: memory.urlTransport ?? null,
    instructions: memory.instructions === undefined ? null : storable(memory.instructions),
    extensions: memory.extensions ? JSON.stringify(memory.extensions) : null,
    tools: JSON.stringify(memory.lists.tools),
    resources: JSON.stringify(memory.lists.resources),
    templates: JSON.stringify(memory.lists.templates),
    prompts: JSON.stringify(memory.lists.prompts),
    at: finite(memory.at),
  };
}

/** Skips rows that cannot be parsed; their servers are listed again. */
export function fromServerRows(rows: readonly ServerRow[]): readonly CachedServer[] {
  return rows.flatMap(({ server, abilities, signature, era, transport, at, instructions, ...texts }) => {
    const extensions = texts.extensions === null ? undefined : extensionsIn({ extensions: parse(texts.extensions) });
    const [tools, resources, templates, prompts] = [texts.tools, texts.resources, texts.templates, texts.prompts].map(
      parse,
    );
    const lists = { tools, resources, templates, prompts };
    const found = {
      server,
      capabilitySet: abilities,
      signature,
      era,
      at,
      ...(transport && { urlTransport: transport }),
      ...(instructions && { instructions }),
      ...(extensions && { extensions }),
    };
    return hasAll(lists) ? [{ ...found, lists }] : [];
  });
}

function hasAll(lists: Readonly<Record<string, unknown>>): lists is CachedServer['lists'] {
  return Object.values(lists).every(Array.isArray);
}

export function toMetricsRow(metrics: SavedMetrics): MetricsBookRow {
  return {
    server: storable(metrics.server),
    signature: metrics.signature,
    tool: storable(metrics.tool),
    total_calls: finite(metrics.totalCalls),
    tool_errors: finite(metrics.toolErrors),
    error_count: finite(metrics.errorCount),
    avg_latency_ms: finite(metrics.avgLatencyMs),
    last_call_time: finite(metrics.lastCallTime),
  };
}

export function fromMetricsRow(row: MetricsBookRow): SavedMetrics {
  return {
    server: row.server,
    signature: row.signature,
    tool: row.tool,
    totalCalls: row.total_calls,
    toolErrors: row.tool_errors,
    errorCount: row.error_count,
    avgLatencyMs: row.avg_latency_ms,
    lastCallTime: row.last_call_time,
  };
}

export function toApiKeyRow(key: StoredApiKey): ApiKeyRow {
  return {
    name: storable(key.name),
    sha256: storable(key.sha256),
    roles: JSON.stringify(key.roles),
    profile: key.profile === undefined ? null : storable(key.profile),
    created_at: finite(key.createdAt),
    person: key.person ? 1 : 0,
  };
}

/** Drops unknown roles, so that a key with a damaged row has fewer rights, never more. */
export function fromApiKeyRow({ name, sha256, roles, profile, created_at, person }: ApiKeyRow): StoredApiKey {
  const written = parse(roles);
  const known = ROLES.filter((role: Role) => Array.isArray(written) && written.includes(role));
  return {
    ...{ name, sha256, roles: known, createdAt: created_at },
    ...(profile !== null && { profile }),
    ...(person === 1 && { person: true }),
  };
}

/**
 * Returns text that every database stores unchanged. Names come from callers. Postgres refuses NUL, which would stop the
 * whole batch. Both databases replace half a surrogate pair, which would change the hashed text.
 */
export function storable(text: string): string {
  if (text.isWellFormed() && !text.includes('\0')) return text;
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

// SQLite stores NaN as NULL, which the column refuses; one refused row stops the whole batch.
function finite(value: number): number {
  return Number.isFinite(value) ? value : 0;
}

// A record that was tampered with must still be shown.
function toObject(text: string): JsonObject {
  const value = parse(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as JsonObject) : { unreadable: text };
}

function parse(text: string): unknown {
  try {
    return parseKeys(text);
  } catch {
    return undefined;
  }
}
