import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { redactBeginning, redactText } from '../../core/text/redact-text.ts';

/** The largest message taken from a server that sets no `maxMessageBytes`. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const EDGE_CHARS = 512;
const MAX_QUOTE_CHARS = 300;
const MAX_SEARCHED_CHARS = 4096;
// Servers write the id of a response first or, as the SDKs do, last.
const RESPONSE_START =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*(\d+)\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?)?"(?:result|error)"\s*:/;
const ID_AT_END = /,\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/** Finds the request id of an unparsed response in the beginning and end of its text. */
export function answeredId(head: string, tail = head): number | undefined {
  const start = RESPONSE_START.exec(head.slice(0, EDGE_CHARS));
  const id = start && (start[1] ?? ID_AT_END.exec(tail.slice(-EDGE_CHARS))?.[1]);
  return id ? Number(id) : undefined;
}

/** The error for a message over the limit. The server has answered, so it may have carried out the request. */
export function tooLarge(server: string, limit: number, bytes?: number): UpstreamError {
  const size = bytes === undefined ? `more than ${limit} bytes, which is` : `${bytes} bytes; ${limit} is`;
  return new UpstreamError('UPSTREAM_FAILED', `${server} sent a message of ${size} the limit.`, {
    delivered: 'maybe',
    details: { server, limit, ...(bytes !== undefined && { bytes }) },
    fix: `Ask for less, or raise \`maxMessageBytes\` of ${server}.`,
  });
}

/** The error for a response that is not acceptable JSON: broken, or nested too deep. */
export function unreadable(server: string, cause: unknown): UpstreamError {
  return new UpstreamError(
    'UPSTREAM_FAILED',
    `${server} sent a response that cannot be read. ${whyUnreadable(cause)}`,
    {
      delivered: 'maybe',
      cause,
      details: { server },
    },
  );
}

export const whyUnreadable = (cause: unknown): string => quoted(HeddleError.from(cause).message);

/** Returns foreign text on one line, shortened to 300 characters, without control characters and secrets. */
export const quoted = (text: string): string =>
  redactBeginning(text, MAX_SEARCHED_CHARS, (part) => redactText(part.replace(/[\s\p{Cc}]+/gu, ' ').trim())).slice(
    0,
    MAX_QUOTE_CHARS,
  );
