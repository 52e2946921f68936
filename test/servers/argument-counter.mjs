// A legacy stdio server with one tool. It appends the argument `n` of each call to the file COUNTS before it responds. It
// imports only Node modules.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'argument-counter', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'write', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ arguments: { n } }) => {
    appendFileSync(process.env.COUNTS, `${n}\n`);
    return { content: [{ type: 'text', text: 'written' }] };
  },
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params = {} } = JSON.parse(line);
    const handle = METHODS[method];
    if (id === undefined || !handle) return;
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: handle(params) })}\n`);
  })
  .on('close', () => process.exit(0));
