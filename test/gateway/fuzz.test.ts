import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { gatewayUnderTest, JSON_HEADERS, OWNER, TOKEN } from '../../src/gateway/fixtures.ts';
import { serveStdio } from '../../src/gateway/transports/serve-stdio.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const RUNS = process.env.HEDDLE_TEST_SCALE === 'full' ? 1000 : 200;
const RESPONSE_MS = 60_000;

const METHODS = ['ping', 'initialize', 'tools/list', 'tools/call', 'resources/read', 'notifications/cancelled', 'x'];
const KEYS = ['jsonrpc', 'id', 'method', 'params', '_meta', 'name', 'arguments', 'cursor', '__proto__', 'requestId'];

/** A JSON-RPC message whose members may have any value. */
const message = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, fc.jsonValue()),
    id: fc.oneof(fc.integer(), fc.string(), fc.double(), fc.jsonValue()),
    method: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...METHODS) }, fc.jsonValue()),
    params: fc.oneof(fc.dictionary(fc.constantFrom(...KEYS), fc.jsonValue()), fc.jsonValue()),
  },
  { requiredKeys: [] },
);

/** A message text with one part removed or replaced. */
const damaged = fc
  .tuple(message, fc.nat(), fc.nat(20), fc.string({ unit: 'binary', maxLength: 5 }))
  .map(([value, at, length, instead]) => {
    const whole = JSON.stringify(value);
    const from = at % (whole.length + 1);
    return whole.slice(0, from) + instead + whole.slice(from + length);
  });

const body = fc.oneof(
  message.map((value) => JSON.stringify(value)),
  damaged,
  fc.array(message, { maxLength: 3 }).map((value) => JSON.stringify(value)),
  fc.json(),
  fc.string({ unit: 'binary' }),
);

const parsed = (written: string): { value: unknown } | undefined => {
  try {
    return { value: JSON.parse(written) };
  } catch {
    return undefined;
  }
};

/** Posts a body in parts of the given sizes. */
function postParts(port: number, written: string, sizes: readonly number[]): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers: JSON_HEADERS };
    const sent = request({ ...options, agent: false, signal: AbortSignal.timeout(RESPONSE_MS) }, (response) => {
      readText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    sent.on('error', reject);
    let rest = Buffer.from(written);
    for (const size of sizes) {
      if (rest.length > size) sent.write(rest.subarray(0, size));
      rest = rest.subarray(Math.min(size, rest.length));
    }
    sent.end(rest);
  });
}

/** Sends bytes to the gateway and returns the status line after the connection closed. */
async function statusOf(port: number, head: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  let received = '';
  socket.on('data', (chunk) => (received += chunk));
  socket.end(head);
  await once(socket, 'close', { signal: AbortSignal.timeout(RESPONSE_MS) });
  return received.split('\r\n', 1)[0] ?? '';
}

describe('random input', () => {
  verifies('P6', 'as a body gets a JSON-RPC response with the right error and id', async () => {
    const { port, post } = await gatewayUnderTest();
    const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 4 });
    const property = fc.asyncProperty(body, sizes, async (written, sizes) => {
      const { status, text } = await postParts(port, written, sizes);
      expect([200, 202, 400, 404]).toContain(status);
      if (status === 202) return;
      const response = JSON.parse(text);
      expect(response).toMatchObject({ jsonrpc: '2.0' });
      const read = parsed(Buffer.from(written).toString());
      if (!read) expect([status, response.id, response.error?.code]).toEqual([400, null, -32700]);
      else if (status === 400) expect([response.id, response.error.code < -32000]).toEqual([null, true]);
      else expect(response.id).toEqual((read.value as { id: unknown }).id);
    });
    await fc.assert(property, { numRuns: RUNS });
    expect((await post({ id: 1, method: 'ping' })).status).toBe(200);
  });

  verifies('P6', 'as a request head gets a status below 500 or none, and nothing hangs', async () => {
    const { port, post } = await gatewayUnderTest();
    const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/);
    const known = fc.constantFrom(
      ...['Host', 'Origin', 'Authorization', 'Content-Type', 'Content-Length', 'Transfer-Encoding', 'Upgrade'],
      ...['Connection', 'Mcp-Session-Id', 'MCP-Protocol-Version', 'Mcp-Method', 'Last-Event-ID', 'Expect'],
    );
    const value = fc.oneof(
      { weight: 4, arbitrary: fc.stringMatching(/^[ -~]{0,40}$/) },
      fc.constantFrom(`Bearer ${TOKEN}`, '127.0.0.1', 'application/json', 'chunked', 'websocket', '5', '-1', '1e9'),
      fc.constantFrom('2026-07-28', '2025-11-25', '100-continue', 'upgrade', 'close'),
      fc.string({ unit: 'binary', maxLength: 40 }),
    );
    const headers = fc.array(fc.tuple(fc.oneof({ weight: 4, arbitrary: known }, token), value), { maxLength: 6 });
    const verb = fc.oneof(fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'HEAD', 'CONNECT'), token);
    const path = fc.oneof(fc.constantFrom('/mcp', '/mcp/x', '/messages', '/api/', '/healthz', '/', '*'), fc.webPath());
    const start = fc.tuple(verb, path, fc.boolean()).map(([verb, path, isKnown]) => {
      const credential = isKnown ? `Authorization: Bearer ${TOKEN}\r\n` : '';
      return `${verb} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${credential}`;
    });
    const property = fc.asyncProperty(start, headers, body, async (start, headers, body) => {
      const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
      const head = `${start}${lines}\r\n${body}`;
      expect(await statusOf(port, head)).toMatch(/^(HTTP\/1\.1 [1-4]\d\d .*)?$/);
    });
    await fc.assert(property, { numRuns: RUNS });
    expect((await post({ id: 1, method: 'ping' })).status).toBe(200);
  });

  verifies('P6', 'over a WebSocket does not stop the next request', async () => {
    const { port } = await gatewayUnderTest();
    const headers = { authorization: `Bearer ${TOKEN}` };
    const socket = new WebSocket(`ws://127.0.0.1:${port}/mcp`, ['mcp'], { headers });
    onTestFinished(() => socket.terminate());
    const ids = new Set<unknown>();
    socket.on('message', (bytes) => ids.add(JSON.parse(String(bytes)).id));
    await once(socket, 'open');
    let sent = 0;
    const property = fc.asyncProperty(fc.oneof(body, fc.uint8Array()), async (frame) => {
      const id = `after-${++sent}`;
      socket.send(frame);
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }));
      await until('the next is answered', () => ids.has(id));
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  verifies('P6', 'over stdio does not stop the next request', async () => {
    const { heddle } = await gatewayUnderTest();
    const [input, output] = [new PassThrough(), new PassThrough()];
    const closing = new AbortController();
    onTestFinished(() => closing.abort());
    void serveStdio({ heddle, caller: OWNER, input, output }, closing.signal);
    let written = '';
    output.on('data', (chunk) => (written += chunk));
    let sent = 0;
    const property = fc.asyncProperty(fc.oneof(body, fc.uint8Array()), async (line) => {
      const id = `after-${++sent}`;
      written = '';
      input.write(line);
      input.write(`\n${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`);
      await until('the next is answered', () => written.includes(`"id":"${id}"`));
      for (const line of written.split('\n')) if (line) JSON.parse(line);
    });
    await fc.assert(property, { numRuns: RUNS });
  });
});
