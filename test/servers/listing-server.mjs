// A stdio server with the entries of its argument: a JSON object with tools, resources, templates and prompts.
import { createInterface } from 'node:readline';

const { tools = [], resources = [], templates = [], prompts = [] } = JSON.parse(process.argv[2]);

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: {}, prompts: {} },
    serverInfo: { name: 'listing', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'resources/list': () => ({ resources }),
  'resources/templates/list': () => ({ resourceTemplates: templates }),
  'prompts/list': () => ({ prompts }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  const result = METHODS[method]?.(params);
  const reply = result ? { result } : { error: { code: -32601, message: `${method} is not supported` } };
  if (id !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`);
}
