import type { ServerStatus } from '../../core/records/server-status.ts';

/** Returns the state as text. A server that waits for trust or is blocked has not failed. */
export function stateOf({ state, code, attempt: [attempt, of], retryAt, health }: ServerStatus): string {
  if (code === 'SERVER_UNTRUSTED') return 'untrusted';
  if (code === 'SERVER_BLOCKED') return 'blocked';
  if (state === 'connected' && health === 'unhealthy') return 'connected, unhealthy';
  if (state !== 'pending') return state;
  if (attempt === 0) return 'not started';
  return `${retryAt === undefined ? 'connecting' : 'waiting'}, attempt ${attempt} of ${of}`;
}
