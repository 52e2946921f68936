// A stdio server that breaks on request: `node faulty-stdio.mjs [hang=METHOD] [exit-on=N] [flaps]`.
// Its tools break in the other ways. With START_LOG in its environment it adds a line to that file at each start.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const ways = new Map(process.argv.slice(2).map((way) => way.split('=')));
if (process.env.START_LOG) appendFileSync(process.env.START_LOG, 'start\n');

const line = (message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const say = (message) => process.stdout.write(line(message));
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const cancelled = [];
const waiting = new Map();
let calls = 0;

const TOOLS = {
  echo: (id, { message }) => say({ id, result: text(message) }),
  die: () => process.kill(process.pid, 'SIGKILL'),
  hang() {},
  /** Answers only a call with a message. */
  hold: (id, { message }) => message && say({ id, result: text(message) }),
  cancelled: (id) => say({ id, result: text(cancelled.join()) }),
  /** The second answer is another one. */
  twice(id, { message }) {
    say({ id, result: text(message) });
    say({ id, result: text('again') });
  },
  stranger(id, { message }) {
    for (const other of [id + 1_000_000, -1, 0, null, 'x', `${id}`]) say({ id: other, result: text('not for you') });
    say({ id, result: text(message) });
  },
  /** Answers when it is told not to. */
  late: (id, { message }) => void waiting.set(id, message),
  garbage(id, { message }) {
    process.stdout.write('not JSON\n{"jsonrpc":"2.0","id":\n\u0000\n[1,2\n"text"\n42\nnull\n');
    say({ id, result: text(message) });
  },
  /** In two halves, the first of them in the middle of a letter. */
  halves(id, { message }) {
    const bytes = Buffer.from(line({ id, result: text(`${message} ✓`) }));
    const middle = bytes.indexOf(0xe2) + 1;
    process.stdout.write(bytes.subarray(0, middle), () => process.stdout.write(bytes.subarray(middle)));
  },
  big: (id, { megabytes }) => say({ id, result: text('y'.repeat(megabytes * 1024 * 1024)) }),
  async drip(id, { message }) {
    for (const byte of Buffer.from(line({ id, result: text(message) }))) {
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
      if (message) say({ id: params.requestId, result: text(message) });
    }
    if (id === undefined || ways.get('hang') === method) return;
    if (method === 'tools/call') {
      calls += 1;
      if (calls === Number(ways.get('exit-on'))) process.exit(5);
      TOOLS[params.name](id, params.arguments);
    } else if (METHODS[method]) say({ id, result: METHODS[method](params) });
    else say({ id, error: { code: -32601, message: 'unknown' } });
    if (ways.has('flaps') && method === 'tools/list') process.stdout.write('', () => process.exit(6));
  })
  .on('close', () => process.exit(0));
