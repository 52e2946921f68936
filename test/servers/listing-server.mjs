// A stdio server with the entries of its argument: a JSON object with tools, resources, templates and prompts.
// A tool with `needs` is listed only to clients that declare this capability.
import { createInterface } from 'node:readline';

const { tools = [], resources = [], templates = [], prompts = [] } = JSON.parse(process.argv[2]);

let declared = {};
const METHODS = {
  initialize({ protocolVersion, capabilities }) {
    declared = capabilities;
    const serverInfo = { name: 'listing', version: '1' };
    return { protocolVersion, capabilities: { tools: {}, resources: {}, prompts: {} }, serverInfo };
  },
  'tools/list': () => ({ tools: tools.filter(({ needs }) => needs === undefined || needs in declared) }),
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
