// A server that says which start of it this is, by the mark Heddle gave it, and on request only once a file exists.
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const inputSchema = { type: 'object' };
const answers = {
  initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'pid' } }),
  'tools/list': () => ({ tools: [{ name: 'who', inputSchema }] }),
  async 'tools/call'({ arguments: { after } }) {
    while (after && !existsSync(after)) await new Promise((resolve) => setTimeout(resolve, 5));
    return { content: [{ type: 'text', text: process.env.HEDDLE_LINE }] };
  },
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const outcome = answer ? { result: await answer(params) } : { error: { code: -32601, message: 'no' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
});
