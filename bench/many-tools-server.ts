// A stdio server that lists many tools of ordinary size. They cannot be called.
// node bench/many-tools-server.ts COUNT
import { readLines } from './plain-server.ts';

const tools = Array.from({ length: Number(process.argv[2]) }, (_, index) => ({
  name: `list_things_${index}`,
  title: `List things ${index}`,
  description: `Lists the things of kind ${index} that match a query, newest first, at most \`limit\` of them.`,
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Text to search for.' },
      limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Maximum number of results.' },
      state: { type: 'string', enum: ['open', 'closed', 'all'], description: 'State of the results.' },
    },
    required: ['query'],
  },
  annotations: { readOnlyHint: true },
}));

const METHODS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'many-tools', version: '1.0.0' },
  },
  ping: {},
  'tools/list': { tools },
};

readLines(process.stdin, (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = METHODS[method];
  const error = { code: -32601, message: `${method} is not supported.` };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })}\n`);
});
process.stdin.on('end', () => process.exit(0));
