// A stdio server whose tools succeed, fail, refuse, hang or exit. It imports only Node modules.
import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const object = { type: 'object' };
const NEEDS_TEXT = {
  ...object,
  properties: { message: { type: 'string' }, times: { type: 'integer' } },
  required: ['message'],
};

const TOOLS = {
  echo: { inputSchema: NEEDS_TEXT, run: (id, input) => send({ id, result: text(JSON.stringify(input)) }) },
  plain: { inputSchema: NEEDS_TEXT, run: (id, input) => send({ id, result: text(input.message) }) },
  fail: { run: (id) => send({ id, result: { ...text('It did not work.'), isError: true } }) },
  refuse: { run: (id) => send({ id, error: { code: -31000, message: 'Not today' } }) },
  hang: { run() {} },
  die: { run: () => process.exit(3) },
  picture: { run: (id) => send({ id, result: { content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] } }) },
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'odd', version: '1' },
  }),
  'tools/list': () => ({
    tools: Object.entries(TOOLS).map(([name, { inputSchema = object }]) => ({
      name,
      description: `It is called ${name}.`,
      inputSchema,
    })),
  }),
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    if (method === 'tools/call') TOOLS[params.name].run(id, params.arguments);
    else if (METHODS[method]) send({ id, result: METHODS[method](params) });
    else send({ id, error: { code: -32601, message: 'unknown' } });
  })
  .on('close', () => process.exit(0));
process.stderr.write('odd tools are ready\n');
