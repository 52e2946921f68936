import { durationText } from '../../core/call/describe-approval.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';

/** Returns the state as text. A server that waits for trust or is blocked has not failed. */
export function stateOf({ state, code, attempt: [attempt, of], retryAt, health, failedAt }: ServerStatus): string {
  if (code === 'SERVER_UNTRUSTED') return 'untrusted';
  if (code === 'SERVER_BLOCKED') return 'blocked';
  if (state === 'connected' && health === 'unhealthy') return 'connected, unhealthy';
  if (state === 'failed' && failedAt !== undefined) return `failed${ageText(failedAt)}`;
  if (state !== 'pending') return state;
  if (attempt === 0) return 'not started';
  return `${retryAt === undefined ? 'connecting' : 'waiting'}, attempt ${attempt} of ${of}`;
}

/** The age up to which the failure of a server is shown, and the server is not tried again. */
export const RECENT_FAILURE_MS = 60_000;

/** Tests whether a server has failed so recently that a check shows that result. */
export const isRecentFailure = ({ state, failedAt }: ServerStatus): boolean =>
  state === 'failed' && failedAt !== undefined && Date.now() - failedAt < RECENT_FAILURE_MS;

/** Returns the status with the age of a failure, for `--json`. */
export const withFailureAge = <T extends ServerStatus>(status: T): T & { readonly failedAgoMs?: number } =>
  status.failedAt === undefined
    ? status
    : { ...status, failedAgoMs: Math.max(0, Math.round(Date.now() - status.failedAt)) };

/** Returns the age of a failure from before this command; empty for one that this command has seen. */
const ageText = (failedAt: number): string =>
  failedAt < performance.timeOrigin ? ` ${durationText(Math.max(Date.now() - failedAt, 1000))} ago` : '';
