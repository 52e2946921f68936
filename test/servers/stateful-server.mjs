// A stdio server with state in its memory, as a browser server has. It imports only Node modules.
// `wait` answers when it is cancelled at the earliest. It writes the files `called` and `cancelled` in the folder
// that it is given as its argument.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [, , folder = '.'] = process.argv;
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const object = { type: 'object' };
let count = 0;
let waiting;

const TOOLS = {
  count: (id) => send({ id, result: text(String(++count)) }),
  // Writes the number as it came: JavaScript would round it.
  mirror(id, _, line) {
    const [, number = ''] = /"number":\s*([-+.\deE]+)/.exec(line) ?? [];
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"n":${number}}}}\n`);
  },
  wait(id) {
    waiting = id;
    writeFileSync(join(folder, 'called'), '');
  },
  progress(id, { _meta }) {
    const { progressToken } = _meta ?? {};
    if (progressToken !== undefined) {
      send({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2, message: 'halfway' } });
    }
    send({ id, result: text('done') });
  },
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'stateful', version: '1' },
  }),
  'tools/list': () => ({ tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: object })) }),
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === 'notifications/cancelled' && params.requestId === waiting) {
      writeFileSync(join(folder, 'cancelled'), '');
    }
    if (id === undefined) return;
    if (method === 'tools/call') TOOLS[params.name](id, params, line);
    else if (METHODS[method]) send({ id, result: METHODS[method](params) });
    else send({ id, error: { code: -32601, message: 'unknown' } });
  })
  .on('close', () => process.exit(0));
