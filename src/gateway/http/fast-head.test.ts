import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { readFastHead } from './fast-head.ts';

const RUNS = process.env.HEDDLE_TEST_SCALE === 'full' ? 20_000 : 400;
const LINE = 'POST /mcp HTTP/1.1';

/** Builds a head that the fast path reads, plus the given lines. */
const headOf = (lines: readonly string[], line = LINE, host = 'Host: localhost', length = 'Content-Length: 5') =>
  [line, host, length, ...lines].filter((one) => one !== '').join('\r\n');
const withLine = (line: string) => headOf([], line);
const withHost = (host: string) => headOf([], LINE, host);
const withLength = (length: string) => headOf([], LINE, 'Host: localhost', length);
const withField = (...fields: string[]) => headOf(fields);

const FAST: readonly (readonly [string, string, object])[] = [
  ['the fewest fields', withField(), { url: '/mcp', bodyBytes: 5 }],
  ['a profile', withLine('POST /mcp/my-profile_1 HTTP/1.1'), { url: '/mcp/my-profile_1' }],
  [
    'the longest name of a profile',
    withLine(`POST /mcp/${'p'.repeat(64)} HTTP/1.1`),
    { url: `/mcp/${'p'.repeat(64)}` },
  ],
  ['names in any case', withField('aCCePT: a'), { headers: { host: 'localhost', 'content-length': '5', accept: 'a' } }],
  ['every character of a name', withField("!#$%&'*+.^_`|~-09azAZ: a"), { url: '/mcp' }],
  [
    'blanks before a value, and in it',
    withField('A: \t b\tc  d'),
    { headers: expect.objectContaining({ a: 'b\tc  d' }) },
  ],
  ['no blank after the colon', withField('A:b'), { headers: expect.objectContaining({ a: 'b' }) }],
  ['colons in a value', withField('A: b:c'), { headers: expect.objectContaining({ a: 'b:c' }) }],
  ['an empty value', withField('A:'), { headers: expect.objectContaining({ a: '' }) }],
  [
    'bytes beyond ASCII',
    withField('A: \xc3\xa9\x80\xff'),
    { headers: expect.objectContaining({ a: '\xc3\xa9\x80\xff' }) },
  ],
  ['an explicit keep-alive', withField('Connection: Keep-Alive'), { url: '/mcp' }],
  ['no body', withLength('Content-Length: 0'), { bodyBytes: 0 }],
  ['nine digits of length', withLength('Content-Length: 999999999'), { bodyBytes: 999_999_999 }],
];

const NOT_FAST: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['GET', withLine('GET /mcp HTTP/1.1')],
  ['a method in small letters', withLine('post /mcp HTTP/1.1')],
  ['another path', withLine('POST /messages HTTP/1.1')],
  ['a longer path', withLine('POST /mcpx HTTP/1.1')],
  ['a path that ends in a slash', withLine('POST /mcp/ HTTP/1.1')],
  ['a path below a profile', withLine('POST /mcp/a/b HTTP/1.1')],
  ['an encoded path', withLine('POST /mcp/%61 HTTP/1.1')],
  ['the name of a profile that is too long', withLine(`POST /mcp/${'p'.repeat(65)} HTTP/1.1`)],
  ['a query', withLine('POST /mcp?a=b HTTP/1.1')],
  ['an empty query', withLine('POST /mcp? HTTP/1.1')],
  ['a fragment', withLine('POST /mcp#a HTTP/1.1')],
  ['a whole address', withLine('POST http://localhost/mcp HTTP/1.1')],
  ['HTTP/1.0', withLine('POST /mcp HTTP/1.0')],
  ['HTTP/2.0', withLine('POST /mcp HTTP/2.0')],
  ['no version', withLine('POST /mcp')],
  ['two blanks in the first line', withLine('POST  /mcp HTTP/1.1')],
  ['a tab in the first line', withLine('POST\t/mcp HTTP/1.1')],
  ['a blank after the first line', withLine('POST /mcp HTTP/1.1 ')],
  ['an empty line first', `\r\n${withField()}`],
  ['a bare LF after the first line', withField().replace('\r\n', '\n')],
  ['a bare CR after the first line', withField().replace('\r\n', '\r')],
  ['a bare LF in a value', withField('A: b\nTransfer-Encoding: chunked')],
  ['a bare CR in a value', withField('A: b\rTransfer-Encoding: chunked')],
  ['a bare LF at the end', `${withField('A: b')}\n`],
  ['a bare CR at the end', `${withField('A: b')}\r`],
  ['an empty line at the end', `${withField('A: b')}\r\n`],
  ['a value that goes on after a blank', withField('A: b', ' c: d')],
  ['a value that goes on after a tab', withField('A: b', '\tc: d')],
  ['a blank before the first field', headOf([], LINE, ' Host: localhost')],
  ['a blank before the colon', withField('A : b')],
  ['a tab before the colon', withField('A\t: b')],
  ['a blank in a name', withField('A B: c')],
  ['a name in quotes', withField('"A": b')],
  ['a name with brackets', withField('A(b): c')],
  ['a name beyond ASCII', withField('\xe9: a')],
  ['no name', withField(': a')],
  ['no colon', withField('Abc')],
  ['a field twice', withField('A: b', 'A: b')],
  ['a field twice, in different case', withField('Mcp-Name: b', 'mcp-nAME: c')],
  ['two hosts', withField('HOST: localhost')],
  ['two lengths that differ', withField('content-length: 6')],
  ['two lengths that agree', withField('Content-Length: 5')],
  ['a blank after a value', withField('A: b ')],
  ['a tab after a value', withField('A: b\t')],
  ['a value of blanks', withField('A: \t ')],
  ['NUL in a value', withField('A: b\0c')],
  ['a control character in a value', withField('A: b\x01c')],
  ['an escape in a value', withField('A: \x1b[0m')],
  ['DEL in a value', withField('A: b\x7fc')],
  ['NUL in a name', withField('A\0: b')],
  ['a character over one byte', withField('A: \u{100}')],
  ['no host', withHost('')],
  ['an empty host', withHost('Host:')],
  ['a blank host', withHost('Host: \t ')],
  ['no length', withLength('')],
  ['an empty length', withLength('Content-Length:')],
  ['a length with a plus', withLength('Content-Length: +5')],
  ['a length with a minus', withLength('Content-Length: -5')],
  ['a length with a blank in it', withLength('Content-Length: 5 5')],
  ['a length with a tab after it', withLength('Content-Length: 5\t')],
  ['a list of lengths', withLength('Content-Length: 5, 5')],
  ['a length with a leading zero', withLength('Content-Length: 05')],
  ['a length of ten digits', withLength('Content-Length: 1000000000')],
  ['a hexadecimal length', withLength('Content-Length: 0x5')],
  ['a length with an exponent', withLength('Content-Length: 5e0')],
  ['a length with a fraction', withLength('Content-Length: 5.0')],
  ['a length in other digits', withLength('Content-Length: \xb2')],
  ...['chunked', 'identity', ''].map(
    (value) => [`Transfer-Encoding: ${value}`, withField(`Transfer-Encoding: ${value}`)] as const,
  ),
  ...['close', 'Close', 'upgrade', 'keep-alive, close', 'keep-alive, te', 'keep-alive,', ''].map(
    (value) => [`Connection: ${value}`, withField(`Connection: ${value}`)] as const,
  ),
  ...['Expect: 100-continue', 'Upgrade: websocket', 'TE: trailers', 'Trailer: a', 'Keep-Alive: timeout=5'].map(
    (field) => [field, withField(field)] as const,
  ),
  ['Proxy-Connection: close', withField('Proxy-Connection: close')],
  ['a field that Node parses into a list', withField('Set-Cookie: a=b')],
  ['a field that Node drops', withField('__proto__: a')],
];

describe('the head of a request', () => {
  it.each(FAST)('P1: with %s is parsed', (_, text, expected) => {
    expect(readFastHead(text)).toMatchObject(expected);
  });

  it.each(NOT_FAST)('P6: with %s is left to Node', (_, text) => {
    expect(readFastHead(text)).toBeUndefined();
  });
});

const FIELDS = [
  ...['Content-Type: application/json', 'Authorization: Bearer a.b-c', 'Accept: application/json, text/event-stream'],
  ...['MCP-Protocol-Version: 2026-07-28', 'Mcp-Method: tools/call', 'Mcp-Name: mcp__up__do', 'User-Agent: \xc3\xa9'],
  ...['Connection: keep-alive', 'Accept-Encoding: gzip, deflate', 'Cookie: a=b; c=d', 'Origin: http://localhost'],
];
const ODD_FIELDS = [
  ...['Transfer-Encoding: chunked', 'Content-Length: 7', 'Connection: close', 'Expect: 100-continue', 'TE: trailers'],
  ...['Upgrade: websocket', 'Set-Cookie: a=b', '__proto__: a', 'constructor: a', 'Trailer: a', 'Host: other', ' a: b'],
  ...['Age: 5', 'ETag: a', 'Via: a', 'Keep-Alive: 5', 'HTTP2-Settings: AAMA', 'Proxy-Connection: close', 'Range: a'],
];
const NASTY = [
  ...[
    '\r',
    '\n',
    '\r\n',
    '\r\n ',
    '\n\n',
    '\r\r\n',
    '\t',
    ' ',
    '  ',
    ':',
    ',',
    ';',
    '=',
    '"',
    '(',
    '/',
    '?',
    '\\',
    '%',
  ],
  ...['\0', '\x01', '\x08', '\x0b', '\x0c', '\x1f', '\x7f', '\x80', '\x85', '\xa0', '\xad', '\xff', '+', '-', '_', '.'],
  ...['0', '1', '5', '9', 'a', 'Z', 'e', 'x', 'chunked', 'close', '\r\nA: b', '\r\nContent-Length: 1', '\r\n\r\n'],
];

/** The position of a change in a line. Parsers differ most at the edges. */
const place = fc.oneof(fc.constantFrom('start', 'name', 'value', 'end'), fc.nat());
const change = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'replace', 'delete', 'double', 'swap', 'odd'),
  line: fc.nat(),
  place,
  nasty: fc.constantFrom(...NASTY),
  odd: fc.constantFrom(...ODD_FIELDS),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function changed(lines: readonly string[], { kind, line, place, nasty, odd }: Change): readonly string[] {
  const at = line % lines.length;
  const [text = '', next = ''] = [lines[at], lines[at + 1]];
  if (kind === 'double') return lines.toSpliced(at, 0, text);
  if (kind === 'swap') return at + 1 < lines.length ? lines.toSpliced(at, 2, next, text) : lines;
  if (kind === 'odd') return lines.toSpliced(at + 1, 0, odd);
  const colon = Math.max(text.indexOf(':'), 0);
  const places = { start: 0, name: colon, value: colon + 1, end: text.length };
  const from = typeof place === 'number' ? place % (text.length + 1) : places[place];
  const rest = text.slice(kind === 'insert' ? from : from + 1);
  return lines.with(at, text.slice(0, from) + (kind === 'delete' ? '' : nasty) + rest);
}

const head = fc
  .tuple(
    fc.shuffledSubarray(['Host: localhost', 'Content-Length: 5', ...FIELDS], { minLength: 8 }),
    fc.array(change, { maxLength: 3 }),
  )
  .map(([fields, changes]) => changes.reduce<readonly string[]>(changed, [LINE, ...fields]).join('\r\n'))
  // A head ends at the first empty line.
  .map((text) => text.split('\r\n\r\n', 1)[0] ?? '');

interface SeenRequest {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  body: string;
}

const AFTER = 'GET /after HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
const RESPONSE_MS = 60_000;

/** Starts a Node server. Returns a function that sends bytes and returns the requests that Node parsed. */
async function nodeServer(): Promise<(bytes: Buffer) => Promise<readonly SeenRequest[]>> {
  const seen = new Map<number | undefined, SeenRequest[]>();
  const server = createServer(async (request, response) => {
    const { url, headers, socket } = request;
    const one: SeenRequest = { url, headers, body: '' };
    seen.get(socket.remotePort)?.push(one); // Pushed in order of the heads: the next may arrive before this body is read.
    one.body = await readText(request);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;

  return async function parseWithNode(bytes) {
    const socket = connect(port, '127.0.0.1').resume();
    await once(socket, 'connect');
    const requests: SeenRequest[] = [];
    seen.set(socket.localPort, requests);
    socket.write(bytes);
    await once(socket, 'close', { signal: AbortSignal.timeout(RESPONSE_MS) });
    return requests;
  };
}

describe('every head that the fast path parses', () => {
  verifies('P1', 'is parsed equally by Node', async () => {
    const parseWithNode = await nodeServer();
    let read = 0;
    const property = fc.asyncProperty(head, async (text) => {
      const fast = readFastHead(text);
      if (!fast || fast.bodyBytes > 100_000) return;
      read += 1;
      const { url, headers, bodyBytes } = fast;
      const body = 'b'.repeat(bodyBytes);
      const requests = await parseWithNode(Buffer.from(`${text}\r\n\r\n${body}${AFTER}`, 'latin1'));
      expect(requests).toEqual([{ url, headers: { ...headers }, body }, expect.objectContaining({ url: '/after' })]);
    });
    await fc.assert(property, { numRuns: RUNS });
    expect(read).toBeGreaterThan(RUNS / 10);
  });
});
