import type { IncomingMessage } from 'node:http';

const LOCAL_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/** Checks that the Host header, and the Origin header if present, name the local machine. */
export function isLocalRequest({ headers: { host = '', origin } }: IncomingMessage): boolean {
  return LOCAL_HOST.test(host) && (origin === undefined || LOCAL_HOST.test(origin.replace(/^https?:\/\//, '')));
}
