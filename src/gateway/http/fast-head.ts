import type { IncomingHttpHeaders } from 'node:http';

/** The head of a POST to `/mcp` that has only one possible reading. */
export interface FastHead {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly bodyBytes: number;
}

const REQUEST_LINE = /^POST (\/mcp(?:\/[\w-]{1,64})?) HTTP\/1\.1$/;
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
// No trailing blank: Node trims it from some values and rejects others for it.
const FIELD = /^[\t -~\x80-\xff]*[!-~\x80-\xff]$/;
const BODY_BYTES = /^(?:0|[1-9]\d{0,8})$/;
const NOT_FAST = [
  // Each of these changes how the body is framed, or asks for more than one response.
  ...['transfer-encoding', 'trailer', 'te', 'expect', 'upgrade', 'keep-alive', 'proxy-connection'],
  // Node parses these into an array, or drops them.
  ...['set-cookie', '__proto__'],
];

/**
 * Parses the head of a POST to `/mcp`, up to the empty line. Returns undefined for any head that two parsers could read
 * differently, such as one with a repeated field. A body needs a `Content-Length`.
 */
export function readFastHead(text: string): FastHead | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const url = REQUEST_LINE.exec(first)?.[1];
  const headers = url === undefined ? undefined : fieldsIn(lines);
  if (url === undefined || !headers) return undefined;
  const { host, connection = 'keep-alive', 'content-length': length = '' } = headers;
  const isFast = host && connection.toLowerCase() === 'keep-alive' && BODY_BYTES.test(length);
  if (!isFast || NOT_FAST.some((name) => name in headers)) return undefined;
  return { url, headers, bodyBytes: Number(length) };
}

function fieldsIn(lines: readonly string[]): IncomingHttpHeaders | undefined {
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (colon < 1 || !NAME.test(name) || !FIELD.test(line) || name in headers) return undefined;
    headers[name] = line.slice(valueStart(line, colon + 1));
  }
  return headers;
}

function valueStart(line: string, from: number): number {
  let start = from;
  while (line[start] === ' ' || line[start] === '\t') start++;
  return start;
}
