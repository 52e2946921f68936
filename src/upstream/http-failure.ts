import { UpstreamError } from '../core/errors.ts';
import type { Head } from './http-exchange.ts';

// Failures that happen before a byte of the request leaves.
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
// What says that the request was not even looked at. Any other refusal may have come after it was carried out.
const NOT_DONE = new Set([307, 308, 400, 401, 403, 404, 405, 406, 413, 415, 429]);
const MAX_QUOTE_CHARS = 300;

/** The server was not heard at all. */
export function toLineFailure(server: string, cause: Error & { readonly code?: string }): UpstreamError {
  return UNSENT.has(cause.code ?? '')
    ? new UpstreamError('UPSTREAM_UNREACHABLE', `${server} cannot be reached (${cause.code}).`, {
        delivered: 'no',
        cause,
        fix: `Check that the server runs and that \`url\` of ${server} is right.`,
      })
    : new UpstreamError('UPSTREAM_FAILED', `The line to ${server} was lost.`, { delivered: 'maybe', cause });
}

/** The server answered with an HTTP status instead of a message. `status` and `challenge` tell what to do about it. */
export function toRefusal(server: string, { status, headers, text }: Head): UpstreamError {
  const quote = text.replace(/\s+/g, ' ').trim().slice(0, MAX_QUOTE_CHARS);
  const details = {
    server,
    status,
    challenge: one(headers['www-authenticate']),
    retryAfter: one(headers['retry-after']),
  };
  if (status === 401) {
    const message = `${server} wants a credential (HTTP 401).`;
    return new UpstreamError('AUTH_NEEDED', message, { delivered: 'no', details });
  }
  const message = `${server} refused the message with HTTP ${status}${quote && `: ${quote}`}`;
  return new UpstreamError('UPSTREAM_FAILED', message, { delivered: NOT_DONE.has(status) ? 'no' : 'maybe', details });
}

const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);
