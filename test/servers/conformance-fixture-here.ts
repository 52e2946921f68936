import type { IncomingMessage } from 'node:http';

const HERE = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/** Whether a request was meant for this machine, and no web page of elsewhere has sent it. */
export function isHere({ headers: { host = '', origin } }: IncomingMessage): boolean {
  return HERE.test(host) && (origin === undefined || HERE.test(origin.replace(/^https?:\/\//, '')));
}
