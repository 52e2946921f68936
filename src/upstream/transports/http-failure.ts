import type { JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { quoted } from './bad-message.ts';
import { describeHtml } from './html-page.ts';
import type { HttpExchange, ResponseHead } from './http-exchange.ts';
import { certificateProblem } from './tls-failure.ts';

// Failures before any byte of the request was sent.
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
// Network failures. Three in a row close the connection.
const TERMINAL = new Set([...UNSENT, 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT', 'EPIPE', 'UND_ERR_SOCKET']);
// Statuses of requests that were not carried out. With any other status the request may have been.
const NOT_DONE = new Set([307, 308, 400, 401, 403, 404, 405, 406, 413, 415, 429]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_RETRY_AFTER_MS = 60_000;

type Coded = Error & { readonly code?: string };

/** The error for a request without any response. `origin` is the address it was sent to. */
export function toTransportFailure(server: string, cause: Coded, origin?: string): UpstreamError {
  const { code = '' } = cause;
  const certificate = certificateProblem(server, cause, origin && new URL(origin).host);
  if (certificate) return certificate;
  return UNSENT.has(code)
    ? toUnreachable(server, cause, origin)
    : new UpstreamError('UPSTREAM_FAILED', `The connection to ${server} was lost (${cause.message}).`, {
        delivered: 'maybe',
        cause,
        details: { server, ...(code && { code }), connectionLost: true },
        fix: lostFix(server),
      });
}

/** The reason of a failed connect, and its fix. `at` is host and port, `name` the host. */
const UNREACHABLE: Readonly<Record<string, (at: string, name: string, server: string) => readonly [string, string]>> = {
  ECONNREFUSED: (at, _, server) => [
    `nothing listens on ${at}`,
    `Check that the server runs, or correct host and port in \`url\` of ${server}.`,
  ],
  ENOTFOUND: (_, name, server) => [
    `there is no host named ${name}`,
    `Correct the host in \`url\` of ${server}; for a name of your network, check its DNS.`,
  ],
  EAI_AGAIN: (_, name) => [
    `the name ${name} could not be looked up`,
    'Check the network connection and the DNS server of this machine.',
  ],
  EHOSTUNREACH: (at) => [`there is no route to ${at}`, 'Check the network connection and the VPN of this machine.'],
  ENETUNREACH: (at) => [`there is no route to ${at}`, 'Check the network connection and the VPN of this machine.'],
};

/** The error for a request that was never sent: it names host and port, the cause, and the part to check. */
function toUnreachable(server: string, cause: Coded, origin: string | undefined): UpstreamError {
  const { code = '' } = cause;
  const url = origin === undefined ? undefined : new URL(origin);
  const [at, name] = [url?.host ?? 'its address', url?.hostname ?? 'in its `url`'];
  const [reason, fix] = UNREACHABLE[code]?.(at, name, server) ?? [
    `${at} did not accept a connection in time`,
    'Check that the server runs, and that no firewall stands between.',
  ];
  return new UpstreamError('UPSTREAM_UNREACHABLE', `${server} cannot be reached: ${reason} (${code}).`, {
    delivered: 'no',
    cause,
    details: { server, code, connectionLost: true },
    fix,
  });
}

/** Returns true for a failure of the network. A bad response or an abort is none. */
export const isTerminal = (error: Coded): boolean => TERMINAL.has(error.code ?? '');

/** The error for an HTTP error status. `details` has the status and `Retry-After`. */
export function toRefusal(server: string, { status, headers, text }: ResponseHead, url: URL): UpstreamError {
  const retryAfterMs = wantedWait({ status, headers });
  const details = { server, status, retryAfter: one(headers['retry-after']), retryAfterMs };
  const delivered = NOT_DONE.has(status) ? 'no' : 'maybe';
  if (REDIRECTS.has(status)) {
    const target = redirectTarget(one(headers.location), url);
    const message = `${server} points to ${target ?? 'another address'} (HTTP ${status}), and redirects are not followed.`;
    const fix = `Put the new address into \`url\` of ${server}, if you trust it.`;
    return new UpstreamError('UPSTREAM_FAILED', message, { delivered, details: { ...details, target }, fix });
  }
  const page = describeHtml(text, headers['content-type']);
  const quote = quoted(text);
  const answer = page ? `HTTP ${status} with ${page}` : `HTTP ${status}${quote && `: ${quote}`}`;
  const message = page ? `${server} answered ${answer}, not MCP.` : `${server} refused the message with ${answer}`;
  return new UpstreamError('UPSTREAM_FAILED', message, {
    delivered,
    details: { ...details, answer },
    fix: fixOfStatus(server, status, page !== undefined),
  });
}

/** Returns the fix for a refused message: its address, its credential or its size is wrong, or the server failed. */
function fixOfStatus(server: string, status: number, isPage: boolean): string {
  if (status === 403) return `Check that the credential of ${server} in its \`headers\` or \`oauth\` may use this.`;
  if (status === 413) return 'Send less.';
  if (status === 429) return 'Wait, then call again.';
  if (status >= 500) return `Ask the operator of ${server} what its log says.`;
  return isPage || status === 404 || status === 405 || status === 406
    ? checkAddress(server)
    : `Correct what ${server} names, or check that its \`url\` is the address of its MCP endpoint.`;
}

/** The error for a request whose exchange ended without its response; it names what came instead. */
export function toNoResponse(server: string, requestId: number, exchange: HttpExchange, cause?: Error): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  const { unread, responseId, isEventStream } = exchange;
  const isCutShort = cause !== undefined || (isEventStream && unread === undefined && responseId === undefined);
  const [message, fix] = cause
    ? [`The connection to ${server} was lost (${cause.message}).`, lostFix(server)]
    : [`${server} ${foundInstead(requestId, exchange)}.`, checkAddress(server)];
  return new UpstreamError('UPSTREAM_FAILED', message, {
    delivered: 'maybe',
    cause,
    details: { server, status: exchange.start?.status, ...(isCutShort && { connectionLost: true }) },
    fix,
  });
}

/** The fix for a connection that broke during a request. */
const lostFix = (server: string): string =>
  `Check that ${server} runs, and that no proxy between ends its connections.`;

/** The fix for an address that answers, but not as an MCP server does. */
export const checkAddress = (server: string): string =>
  `Check that \`url\` of ${server} is the address of its MCP endpoint.`;

function foundInstead(requestId: number, exchange: HttpExchange): string {
  const { start, unread, responseId, isEventStream, page } = exchange;
  const { status = 0, headers = {} } = start ?? {};
  if (page) return `answered HTTP ${status} with ${page}, not MCP`;
  if (responseId !== undefined)
    return `answered request ${requestId} with the id ${quoted(JSON.stringify(responseId))}`;
  if (unread === undefined) {
    return isEventStream ? 'ended its event stream without a response' : `answered HTTP ${status} without a response`;
  }
  const [type, encoding] = [one(headers['content-type']), one(headers['content-encoding'])];
  const kind = quoted([type ?? 'without a content type', encoding].filter(Boolean).join(', '));
  return `answered HTTP ${status} (${kind}) with something other than a JSON-RPC response. ${unread.replace(/\.$/, '')}`;
}

/** Returns the JSON-RPC error for this request in the body of an HTTP error. Servers send one with a 400 or 404. */
export function errorResponseIn({ text }: ResponseHead, requestId: number): JsonObject | undefined {
  try {
    const answer = parseJson(text, { keys: 'any', numbers: 'exact' });
    return isObject(answer) && answer.id === requestId && answer.error !== undefined ? answer : undefined;
  } catch {
    return undefined;
  }
}

/** The close reason of a transport whose server answered that it no longer has the session. */
export const SESSION_LOST = 'It no longer knew the session.';

/** The error for a lost session. Nothing was carried out, so the call may be repeated on a new connection. */
export function toSessionGone(server: string, status: number): UpstreamError {
  const message = `${server} no longer knows the session (HTTP ${status}).`;
  return new UpstreamError('UPSTREAM_FAILED', message, {
    delivered: 'no',
    details: { server, status, sessionGone: true },
    fix: 'Call again: Heddle opens a new session.',
  });
}

/**
 * Returns the delay of `Retry-After` for 429 and 503, if it ends before the deadline.
 * A proxy may send 503 after the server has acted, so a 503 is retried only for repeatable requests.
 */
export function waitBeforeRetry(
  head: ResponseHead,
  { deadlineAt, repeatable }: { readonly deadlineAt: number; readonly repeatable: boolean },
): number | undefined {
  const mayRepeat = !head.ok && (repeatable || NOT_DONE.has(head.status));
  const waitMs = mayRepeat ? wantedWait(head) : undefined;
  return waitMs !== undefined && performance.now() + waitMs < deadlineAt ? waitMs : undefined;
}

/** Returns the delay of `Retry-After` in a response with the status 429 or 503. */
export const wantedWait = ({ status, headers }: Pick<ResponseHead, 'status' | 'headers'>): number | undefined =>
  status === 429 || status === 503 ? waitOf(one(headers['retry-after'])) : undefined;

/** Parses `Retry-After` (seconds or a date) to milliseconds between 0 and one minute. */
export function waitOf(retryAfter: string | undefined, now = Date.now()): number | undefined {
  if (retryAfter === undefined) return undefined;
  const isDate = /^[a-z]/i.test(retryAfter); // HTTP dates begin with the day's name. Date.parse accepts more.
  const ms = isDate ? Date.parse(retryAfter) - now : /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

// Omits the query, which may hold secrets.
function redirectTarget(location: string | undefined, from: URL): string | undefined {
  if (location === undefined || !URL.canParse(location, from.href)) return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin ? to.origin + to.pathname : to.origin;
}

const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);
