// A stdio server that counts. It appends a line with the name and `key` of each request to the file that it is given as
// its argument: `tools/call`, `resources/read`, `resources/subscribe` and `prompts/get`. It imports only Node modules.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , file = '', ...tools] = process.argv;
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const inputSchema = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
const count = (name, key) => appendFileSync(file, `${name} ${key}\n`);
const uriTemplate = 'count://{key}';
const prompt = { name: 'count', arguments: [{ name: 'key', required: true }] };

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} },
    serverInfo: { name: 'counting', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: tools.map((name) => ({ name, inputSchema })) }),
  'tools/call': ({ name, arguments: { key } }) => {
    count(name, key);
    return { content: [{ type: 'text', text: `counted ${key}` }] };
  },
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate, name: 'count' }] }),
  'resources/read': ({ uri }) => {
    count('read', uri.slice('count://'.length));
    return { contents: [{ uri, text: 'counted' }] };
  },
  'resources/subscribe': ({ uri }) => {
    count('subscribe', uri.slice('count://'.length));
    return {};
  },
  'resources/unsubscribe': () => ({}),
  'prompts/list': () => ({ prompts: [prompt] }),
  'prompts/get': ({ arguments: { key } }) => {
    count('prompt', key);
    return { messages: [{ role: 'user', content: { type: 'text', text: `counted ${key}` } }] };
  },
  'completion/complete': ({ argument }) => {
    count('complete', argument.value);
    return { completion: { values: ['counted'] } };
  },
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params = {} } = JSON.parse(line);
    if (id === undefined) return;
    if (METHODS[method]) send({ id, result: METHODS[method](params) });
    else send({ id, error: { code: -32601, message: 'unknown' } });
  })
  .on('close', () => process.exit(0));
