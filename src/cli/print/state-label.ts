import type { ServerStatus } from '../../core/records/server-status.ts';

/** The state in words. What waits for a word of somebody has not failed. */
export function stateOf({ state, code, attempt: [attempt, of], retryAt, health }: ServerStatus): string {
  if (code === 'SERVER_UNTRUSTED') return 'untrusted';
  if (code === 'SERVER_BLOCKED') return 'blocked';
  if (state === 'connected' && health === 'unhealthy') return 'connected, unhealthy';
  if (state !== 'pending') return state;
  if (attempt === 0) return 'not started';
  return `${retryAt === undefined ? 'connecting' : 'waiting'}, attempt ${attempt} of ${of}`;
}
