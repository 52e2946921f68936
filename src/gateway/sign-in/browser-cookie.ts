import { createHash } from 'node:crypto';
import type { RequestHead } from '../http-request.ts';

const MAX_AGE_SECONDS = 600;
const VALUE = /^[A-Za-z0-9_-]{20,200}$/;

/**
 * The cookie that binds a sign-in to the browser that began it. Its name contains a hash of `state`, so that sign-ins in
 * two tabs do not replace each other.
 */
export interface BrowserCookie {
  readonly state: string;
  /** True if browsers reach the gateway over https. */
  readonly isSecure: boolean;
}

function cookieName({ state, isSecure }: BrowserCookie): string {
  const suffix = createHash('sha256').update(state).digest('hex').slice(0, 16);
  return `${isSecure ? '__Host-' : ''}heddle-sign-in-${suffix}`;
}

/** Returns the `Set-Cookie` header. `Lax`, because the redirect of an authorization server comes from another site. */
export const setCookie = (cookie: BrowserCookie, value: string): string => write(cookie, value, MAX_AGE_SECONDS);

/** Returns the `Set-Cookie` header that removes the cookie. */
export const clearCookie = (cookie: BrowserCookie): string => write(cookie, '', 0);

const write = (cookie: BrowserCookie, value: string, maxAge: number) =>
  `${cookieName(cookie)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${cookie.isSecure ? '; Secure' : ''}`;

/** Returns the value of the cookie that a browser sent for this `state`. */
export function readCookie({ headers }: RequestHead, cookie: BrowserCookie): string | undefined {
  const prefix = `${cookieName(cookie)}=`;
  const found = (headers.cookie ?? '').split(/;\s*/).find((pair) => pair.startsWith(prefix));
  const value = found?.slice(prefix.length) ?? '';
  return VALUE.test(value) ? value : undefined;
}
