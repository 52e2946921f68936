import type { Call } from './call.ts';

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/;

export const SPAN_ID_CHARS = 16;

/** Returns the trace and the span above a call: those that its client sent, else those of the run that makes it. */
export function spanAbove({ meta, parent }: Pick<Call, 'meta' | 'parent'>) {
  for (const text of [meta.traceparent, parent]) {
    const [, traceId, parentId] = (typeof text === 'string' && TRACEPARENT.exec(text)) || [];
    if (traceId !== undefined && parentId !== undefined) return { traceId, parentId };
  }
  return undefined;
}

/** Returns the W3C `traceparent` of the calls that a call makes. */
export function traceparentBelow({ id, ...call }: Pick<Call, 'id' | 'meta' | 'parent'>): string {
  const own = id.replaceAll('-', '');
  return `00-${spanAbove(call)?.traceId ?? own}-${own.slice(-SPAN_ID_CHARS)}-01`;
}
