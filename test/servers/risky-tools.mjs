// A stdio server with four tools, three of which declare themselves destructive. It imports only Node modules.
import { createInterface } from 'node:readline';

const inputSchema = { type: 'object' };
const tool = (name, annotations) => ({ name, description: `It is called ${name}.`, inputSchema, annotations });
const tools = [
  tool('look', { readOnlyHint: true }),
  ...['click', 'type', 'close'].map((name) => tool(name, { readOnlyHint: false, destructiveHint: true })),
];

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'risky', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name }) => ({ content: [{ type: 'text', text: `${name} was called` }] }),
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const response = METHODS[method]
      ? { result: METHODS[method](params) }
      : { error: { code: -32601, message: 'unknown' } };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...response })}\n`);
  })
  .on('close', () => process.exit(0));
