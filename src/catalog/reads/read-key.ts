import { createHash } from 'node:crypto';
import type { JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';

// Whose trace a read belongs to changes nothing about what is read.
const TRACING: readonly string[] = ['traceparent', 'tracestate', 'baggage'];

/**
 * The same for reads that have the same answer: those of one principal, or of everybody where it is `public`.
 * A hash, because it is kept, and as long as a client likes otherwise.
 */
export function readKey({ target, caller, meta, extraParams = {} }: ResolvedCall, scope: 'private' | 'public'): string {
  const said = Object.entries(meta).filter(([key]) => !TRACING.includes(key));
  const whose = scope === 'public' ? [] : [caller.id];
  const asked = [target.servers[0], target.name, Object.fromEntries(said) as JsonObject, extraParams];
  const text = canonicalJson([...asked, whose]);
  return createHash('sha256').update(text).digest('base64url');
}

/** Whether the server says that its answer is the same for everybody. */
export const isPublic = (result: Result): boolean => result.kind === 'complete' && result.value.cacheScope === 'public';
