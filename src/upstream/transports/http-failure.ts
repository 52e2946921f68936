import type { JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { quoted } from './bad-message.ts';
import type { HttpExchange, ResponseHead } from './http-exchange.ts';
import { certificateProblem } from './tls-failure.ts';

// Failures that happen before a byte of the request leaves.
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
// What makes a line worth replacing when it goes on. A call given up by us is no such thing.
const TERMINAL = new Set([...UNSENT, 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT', 'EPIPE', 'UND_ERR_SOCKET']);
// What says that the request was not even looked at. Any other refusal may have come after it was carried out.
const NOT_DONE = new Set([307, 308, 400, 401, 403, 404, 405, 406, 413, 415, 429]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_RETRY_AFTER_MS = 60_000;

type Coded = Error & { readonly code?: string };

/** The server was not heard at all. */
export function toTransportFailure(server: string, cause: Coded): UpstreamError {
  const { code = '' } = cause;
  const certificate = certificateProblem(server, cause);
  if (certificate) return certificate;
  return UNSENT.has(code)
    ? new UpstreamError('UPSTREAM_UNREACHABLE', `${server} cannot be reached (${code}).`, {
        delivered: 'no',
        cause,
        details: { server, code, connectionLost: true },
        fix: `Check that the server runs and that \`url\` of ${server} is right.`,
      })
    : new UpstreamError('UPSTREAM_FAILED', `The line to ${server} was lost (${cause.message}).`, {
        delivered: 'maybe',
        cause,
        details: { server, ...(code && { code }), connectionLost: true },
      });
}

/** Whether the network failed, rather than the server's answer or our patience. */
export const isTerminal = (error: Coded): boolean => TERMINAL.has(error.code ?? '');

/** The server answered with an HTTP status instead of a message. `status` and `challenge` tell what to do about it. */
export function toRefusal(server: string, { status, headers, text }: ResponseHead, url: URL): UpstreamError {
  const retryAfterMs = wantedWait({ status, headers });
  const [challenge, retryAfter] = [one(headers['www-authenticate']), one(headers['retry-after'])];
  const details = { server, status, challenge, retryAfter, retryAfterMs };
  if (status === 401) {
    const message = `${server} wants a credential (HTTP 401).`;
    return new UpstreamError('AUTH_NEEDED', message, { delivered: 'no', details });
  }
  const delivered = NOT_DONE.has(status) ? 'no' : 'maybe';
  if (REDIRECTS.has(status)) {
    const target = redirectTarget(one(headers.location), url);
    const message = `${server} points to ${target ?? 'another address'} (HTTP ${status}), and redirects are not followed.`;
    const fix = `Put the new address into \`url\` of ${server}, if you trust it.`;
    return new UpstreamError('UPSTREAM_FAILED', message, { delivered, details: { ...details, target }, fix });
  }
  const quote = quoted(text);
  const message = `${server} refused the message with HTTP ${status}${quote && `: ${quote}`}`;
  return new UpstreamError('UPSTREAM_FAILED', message, { delivered, details });
}

/** The error for a request whose exchange ended without its response; it names what came instead. */
export function toNoResponse(server: string, asked: number, exchange: HttpExchange, cause?: Error): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  const { unread, responseId, isEventStream } = exchange;
  const isCutShort = cause !== undefined || (isEventStream && unread === undefined && responseId === undefined);
  const [message, fix] = cause
    ? [`The line to ${server} was lost (${cause.message}).`, undefined]
    : [
        `${server} ${foundInstead(asked, exchange)}.`,
        `Check that \`url\` of ${server} is the address of an MCP server.`,
      ];
  return new UpstreamError('UPSTREAM_FAILED', message, {
    delivered: 'maybe',
    cause,
    details: { server, status: exchange.start?.status, ...(isCutShort && { connectionLost: true }) },
    ...(fix && { fix }),
  });
}

function foundInstead(asked: number, { start, unread, responseId, isEventStream }: HttpExchange): string {
  const { status = 0, headers = {} } = start ?? {};
  if (responseId !== undefined) return `answered request ${asked} with the id ${quoted(JSON.stringify(responseId))}`;
  if (unread === undefined) {
    return isEventStream ? 'ended its event stream without a response' : `answered HTTP ${status} without a response`;
  }
  const [type, encoding] = [one(headers['content-type']), one(headers['content-encoding'])];
  const kind = quoted([type ?? 'without a content type', encoding].filter(Boolean).join(', '));
  return `answered HTTP ${status} (${kind}) with something other than a JSON-RPC response. ${unread.replace(/\.$/, '')}`;
}

/** What a refusal says to this request, if anything. Servers put a JSON-RPC error into a 400 or 404. */
export function errorResponseIn({ text }: ResponseHead, asked: number): JsonObject | undefined {
  try {
    const answer = parseJson(text, { keys: 'any', numbers: 'exact' });
    return isObject(answer) && answer.id === asked && answer.error !== undefined ? answer : undefined;
  } catch {
    return undefined;
  }
}

/** The close reason of a transport whose server answered that it no longer has the session. */
export const SESSION_LOST = 'It no longer knew the session.';

/** The server has forgotten the session. Nothing was done: a new line may ask once more. */
export function toSessionGone(server: string, status: number): UpstreamError {
  const message = `${server} no longer knows the session (HTTP ${status}).`;
  return new UpstreamError('UPSTREAM_FAILED', message, {
    delivered: 'no',
    details: { server, status, sessionGone: true },
    fix: 'Call again: a new session is begun by itself.',
  });
}

/**
 * How long the server wants a request to wait before it comes again, if that is over before the deadline.
 * A 503 may be a proxy's word for a server that has acted: only what may be done twice comes again.
 */
export function waitBeforeRetry(
  head: ResponseHead,
  { deadlineAt, repeatable }: { readonly deadlineAt: number; readonly repeatable: boolean },
): number | undefined {
  const mayRepeat = !head.ok && (repeatable || NOT_DONE.has(head.status));
  const waitMs = mayRepeat ? wantedWait(head) : undefined;
  return waitMs !== undefined && performance.now() + waitMs < deadlineAt ? waitMs : undefined;
}

const wantedWait = ({ status, headers }: Pick<ResponseHead, 'status' | 'headers'>): number | undefined =>
  status === 429 || status === 503 ? waitOf(one(headers['retry-after'])) : undefined;

/** `Retry-After` in milliseconds: seconds or a date, at least 0 and at most a minute. */
export function waitOf(retryAfter: string | undefined, now = Date.now()): number | undefined {
  if (retryAfter === undefined) return undefined;
  const isDate = /^[a-z]/i.test(retryAfter); // Anything else that looks like a date to JavaScript is none in HTTP.
  const ms = isDate ? Date.parse(retryAfter) - now : /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

// Without its query, where servers put what is secret.
function redirectTarget(location: string | undefined, from: URL): string | undefined {
  if (location === undefined || !URL.canParse(location, from.href)) return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin ? to.origin + to.pathname : to.origin;
}

const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);
