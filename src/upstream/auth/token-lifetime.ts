import type { Grant } from '../../store/token-vault.ts';

/** The difference between clocks of replicas that changes no outcome. */
const SKEW_MS = 60_000;

/** True when 60 s, or a tenth of a shorter lifetime, remain: the time to renew the tokens. */
export function isDue(grant: Grant, now: number): boolean {
  if (grant.expiresAt === undefined) return false;
  const lifetime = Math.max(0, grant.expiresAt - grant.receivedAt);
  return now >= grant.expiresAt - Math.min(SKEW_MS, lifetime / 10);
}

/** True while a server may still accept the access token, by a clock that is at most 60 s off. */
export function lasts(grant: Grant, now: number): boolean {
  return grant.expiresAt === undefined || now < grant.expiresAt + SKEW_MS;
}
