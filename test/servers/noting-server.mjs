// A stdio server whose tool `write` appends the arguments of each call to a file. It imports only Node modules.
// A call with the text `hang` gets no response; with the text `exit` the server exits without one.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , file] = process.argv;
const text = { type: 'string' };
const write = {
  name: 'write',
  description: 'Writes a note.',
  inputSchema: { type: 'object', properties: { text, path: text } },
  annotations: { destructiveHint: false },
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'noting', version: '1' },
  }),
  'tools/list': () => ({ tools: [write] }),
  'tools/call': ({ arguments: sent }) => {
    appendFileSync(file, `${JSON.stringify(sent)}\n`);
    if (sent.text === 'exit') process.exit(1);
    return sent.text === 'hang' ? undefined : { content: [{ type: 'text', text: 'written' }] };
  },
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const result = METHODS[method]?.(params);
    if (METHODS[method] && result === undefined) return;
    const response = result ? { result } : { error: { code: -32601, message: 'unknown' } };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...response })}\n`);
  })
  .on('close', () => process.exit(0));
