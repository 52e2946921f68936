import type { IncomingHttpHeaders } from 'node:http';

/** The head of a request to us that can be read in one way only. */
export interface FastHead {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly bodyBytes: number;
}

const REQUEST_LINE = /^POST (\/mcp(?:\/[\w-]{1,64})?) HTTP\/1\.1$/;
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
// Nothing blank at the end: Node takes that off some values, and refuses others for it.
const FIELD = /^[\t -~\x80-\xff]*[!-~\x80-\xff]$/;
const BODY_BYTES = /^(?:0|[1-9]\d{0,8})$/;
const NOT_PLAIN = [
  // With any of them the body is framed otherwise, or something else is expected than one answer.
  ...['transfer-encoding', 'trailer', 'te', 'expect', 'upgrade', 'keep-alive', 'proxy-connection'],
  // Of these Node makes something else than a text, or nothing.
  ...['set-cookie', '__proto__'],
];

/**
 * Reads the head of a POST to MCP, up to the empty line. Undefined for whatever is not the plainest case, and above all
 * for what two readers could take in two ways: no field twice, no body but one of known length.
 */
export function readFastHead(text: string): FastHead | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const url = REQUEST_LINE.exec(first)?.[1];
  const headers = url === undefined ? undefined : fieldsIn(lines);
  if (url === undefined || !headers) return undefined;
  const { host, connection = 'keep-alive', 'content-length': length = '' } = headers;
  const isPlain = host && connection.toLowerCase() === 'keep-alive' && BODY_BYTES.test(length);
  if (!isPlain || NOT_PLAIN.some((name) => name in headers)) return undefined;
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
