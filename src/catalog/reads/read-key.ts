import { createHash } from 'node:crypto';
import { capabilitiesOfUser } from '../../core/call/private-user.ts';
import type { JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';

// Trace context does not change what is read.
const TRACING: readonly string[] = ['traceparent', 'tracestate', 'baggage'];

/**
 * Returns the same key for reads with the same result: those of one principal, or of all with `public`. It is a hash,
 * since it is kept and the client chooses the length of `_meta`.
 */
export function readKey(call: ResolvedCall, scope: 'private' | 'public'): string {
  const { target, caller, meta, extraParams = {} } = call;
  // A modern server may answer clients with an extension differently.
  const extensions = (capabilitiesOfUser(call)?.extensions ?? null) as JsonObject | null;
  const relevantMeta = Object.entries(meta).filter(([key]) => !TRACING.includes(key));
  const principal = scope === 'public' ? [] : [caller.id];
  const request = [target.servers[0], target.name, Object.fromEntries(relevantMeta) as JsonObject, extraParams];
  const text = canonicalJson([...request, principal, extensions]);
  return createHash('sha256').update(text).digest('base64url');
}

/** Returns true if the result has `cacheScope: public`: it is the same for all principals. */
export const isPublic = (result: Result): boolean => result.kind === 'complete' && result.value.cacheScope === 'public';
