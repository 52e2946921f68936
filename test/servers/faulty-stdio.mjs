// A stdio server that breaks on request: `node faulty-stdio.mjs [hang=METHOD] [exit-on=N] [flaps]`.
// Its tools fail in other faults. With START_LOG in its environment it appends `start` to that file at each start.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const faults = new Map(process.argv.slice(2).map((fault) => fault.split('=')));
if (process.env.START_LOG) appendFileSync(process.env.START_LOG, 'start\n');

const encode = (message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const send = (message) => process.stdout.write(encode(message));
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const cancelled = [];
const waiting = new Map();
let calls = 0;

const TOOLS = {
  echo: (id, { message }) => send({ id, result: text(message) }),
  die: () => process.kill(process.pid, 'SIGKILL'),
  hang() {},
  /** Responds only to a call that has a message. */
  hold: (id, { message }) => message && send({ id, result: text(message) }),
  cancelled: (id) => send({ id, result: text(cancelled.join()) }),
  /** Sends two responses with different results. */
  twice(id, { message }) {
    send({ id, result: text(message) });
    send({ id, result: text('again') });
  },
  stranger(id, { message }) {
    for (const other of [id + 1_000_000, -1, 0, null, 'x', `${id}`]) send({ id: other, result: text('not for you') });
    send({ id, result: text(message) });
  },
  /** Responds only after `notifications/cancelled`. */
  late: (id, { message }) => void waiting.set(id, message),
  garbage(id, { message }) {
    process.stdout.write('not JSON\n{"jsonrpc":"2.0","id":\n\u0000\n[1,2\n"text"\n42\nnull\n');
    send({ id, result: text(message) });
  },
  /** Writes the response in two halves, split inside a UTF-8 character. */
  halves(id, { message }) {
    const bytes = Buffer.from(encode({ id, result: text(`${message} ✓`) }));
    const middle = bytes.indexOf(0xe2) + 1;
    process.stdout.write(bytes.subarray(0, middle), () => process.stdout.write(bytes.subarray(middle)));
  },
  big: (id, { megabytes }) => send({ id, result: text('y'.repeat(megabytes * 1024 * 1024)) }),
  async drip(id, { message }) {
    for (const byte of Buffer.from(encode({ id, result: text(message) }))) {
      await new Promise((resolve) => process.stdout.write(Buffer.of(byte), resolve));
    }
  },
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'faulty', version: '1' },
  }),
  'tools/list': () => ({
    tools: Object.keys(TOOLS).map((name) => ({
      name,
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    })),
  }),
};

createInterface({ input: process.stdin })
  .on('line', (received) => {
    const { id, method, params = {} } = JSON.parse(received);
    if (method === 'notifications/cancelled') {
      cancelled.push(params.requestId);
      const message = waiting.get(params.requestId);
      if (message) send({ id: params.requestId, result: text(message) });
    }
    if (id === undefined || faults.get('hang') === method) return;
    if (method === 'tools/call') {
      calls += 1;
      if (calls === Number(faults.get('exit-on'))) process.exit(5);
      TOOLS[params.name](id, params.arguments);
    } else if (METHODS[method]) send({ id, result: METHODS[method](params) });
    else send({ id, error: { code: -32601, message: 'unknown' } });
    if (faults.has('flaps') && method === 'tools/list') process.stdout.write('', () => process.exit(6));
  })
  .on('close', () => process.exit(0));
