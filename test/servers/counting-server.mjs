// A legacy stdio server with tools, prompts and a template, each `allowed`, `denied`, `asked` and `failing`. It appends a
// line to the file COUNTS for every request that acts: its kind and its name or URI. It imports only Node modules.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const NAMES = ['allowed', 'denied', 'asked', 'failing'];
const text = (value) => ({ type: 'text', text: value });
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** Counts a request, and fails if its name says so. */
function acted(kind, name, result) {
  appendFileSync(process.env.COUNTS, `${kind} ${name}\n`);
  if (name.includes('failing')) throw new Error('It fails.');
  return result;
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} },
    serverInfo: { name: 'counting', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: NAMES.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ uriTemplate: 'count://{outcome}/{path}', name: 'count' }],
  }),
  'prompts/list': () => ({ prompts: NAMES.map((name) => ({ name, arguments: [{ name: 'word' }] })) }),
  'tools/call': ({ name }) => acted('tool', name, { content: [text('counted')] }),
  'resources/read': ({ uri }) => acted('resource', uri, { contents: [{ uri, text: 'counted' }] }),
  'prompts/get': ({ name }) => acted('prompt', name, { messages: [{ role: 'user', content: text('counted') }] }),
  'completion/complete': ({ ref }) => acted('completion', ref.name, { completion: { values: ['counted'] } }),
  'resources/subscribe': ({ uri }) => acted('subscription', uri, {}),
  'resources/unsubscribe': () => ({}),
};

function answer(line) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  const handle = METHODS[method];
  if (!handle) return send({ id, error: { code: -32601, message: 'unknown' } });
  try {
    send({ id, result: handle(params) });
  } catch (thrown) {
    send({ id, error: { code: -32000, message: thrown.message } });
  }
}

createInterface({ input: process.stdin })
  .on('line', answer)
  .on('close', () => process.exit(0));
