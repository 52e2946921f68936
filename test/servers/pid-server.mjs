// A stdio server whose tool `who` returns the HEDDLE_LINE mark of its process.
// With the argument `after` it waits until that file exists.
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const inputSchema = { type: 'object' };
const handlers = {
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
  const handle = handlers[method];
  const outcome = handle ? { result: await handle(params) } : { error: { code: -32601, message: 'no' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
});
