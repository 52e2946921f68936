// The servers that these workflows use, each with made-up data: `node demo-server.mjs brave` is a stdio MCP server with
// the tools of `brave`. It imports only Node modules. With DEMO_CALLS, each call is appended to that file.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const text = { type: 'string' };
const READS = { readOnlyHint: true };
const SETS = { destructiveHint: false, idempotentHint: true };
const WRITES = { destructiveHint: false };

const PAGES = [
  { title: 'Journals', url: 'https://docs.example.com/journals' },
  { title: 'Old mirror', url: 'http://mirror.example.com/journals' },
  { title: 'Sagas', url: 'https://docs.example.com/sagas' },
  { title: 'Gone', url: 'https://docs.example.com/gone' },
];
const CONTRACT = 'This  agreement is made between Acme Ltd and Globex Inc, and stays confidential.';

const result = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
const list = (items) => ({ type: 'array', items });
const search = (limit) => ({
  input: { [limit.query]: text, ...(limit.count && { [limit.count]: { type: 'integer' } }) },
  output: result({ results: list(result({ title: text, url: text })) }),
  hints: READS,
  run: (given) => ({ results: PAGES.slice(0, given[limit.count] ?? PAGES.length) }),
});
const classifier = (label) => ({
  input: { text, labels: list(text) },
  required: ['text'],
  output: result({ label: text }),
  hints: READS,
  run: () => ({ label }),
});

/** By server, then by tool: its arguments, its result, and what it does. */
const SERVERS = {
  brave: { web_search: search({ query: 'q', count: 'count' }) },
  tavily: { search: search({ query: 'query' }) },
  fetch: {
    get: {
      input: { url: text, max_bytes: { type: 'integer' } },
      required: ['url'],
      output: result({ text }),
      hints: READS,
      run({ url }) {
        if (url.endsWith('/gone')) throw new Error(`${url} answered 404.`);
        return { text: `The page ${url} explains it.` };
      },
    },
  },
  llm: {
    summarise: {
      input: { text, words: { type: 'integer' } },
      required: ['text'],
      output: result({ summary: text }),
      hints: READS,
      run: (given) => ({ summary: given.text.replace('The page ', '').replace(' explains it.', '') }),
    },
    write_digest: {
      input: { topic: text, notes: text, note: text },
      output: result({ text }),
      hints: READS,
      run: ({ topic, notes, note }) => ({ text: `${topic}: ${notes.split('\n').join(', ')} (${note})` }),
    },
  },
  text: {
    concat: {
      input: { parts: list(text) },
      output: result({ text }),
      hints: READS,
      run: ({ parts }) => ({ text: parts.join('\n') }),
    },
    normalise: {
      input: { text },
      output: result({ text }),
      hints: READS,
      run: (given) => ({ text: given.text.replace(/\s+/g, ' ') }),
    },
  },
  sentry: {
    issue_stats: {
      input: { project: text, window: text },
      output: result({ rate: { type: 'number' } }),
      hints: READS,
      run: ({ window }) => ({ rate: window === '15m' ? 0.08 : 0.002 }),
    },
  },
  github: {
    list_deployments: {
      input: { repo: text, per_page: { type: 'integer' } },
      required: ['repo'],
      output: result({ items: list(result({ sha: text })) }),
      hints: READS,
      run: () => ({ items: [{ sha: 'b7e23ec' }, { sha: '1f0d5c2' }] }),
    },
  },
  flags: {
    set: {
      input: { name: text, on: { type: 'boolean' } },
      output: result({ name: text, on: { type: 'boolean' } }),
      hints: SETS,
      run: ({ name, on }) => ({ name, on }),
    },
  },
  deploy: {
    rollback: {
      input: { service: text, sha: text },
      output: result({ service: text, sha: text }),
      hints: { destructiveHint: true },
      run: ({ service, sha }) => ({ service, sha }),
    },
  },
  slack: {
    post_message: {
      input: { channel: text, text },
      output: result({ ok: { type: 'boolean' } }),
      hints: WRITES,
      run: () => ({ ok: true }),
    },
  },
  pagerduty: {
    create_incident: {
      input: { title: text, service: text },
      output: result({ id: text }),
      hints: WRITES,
      run: () => ({ id: 'P1' }),
    },
  },
  drive: {
    download: {
      input: { uri: text },
      output: result({ blob_ref: text }),
      hints: READS,
      run: ({ uri }) => ({ blob_ref: `blob:${uri}` }),
    },
  },
  ocr: {
    pdf_to_text: { input: { blob: text }, output: result({ text }), hints: READS, run: () => ({ text: CONTRACT }) },
  },
  llm_a: { classify: classifier('nda') },
  llm_b: { classify: classifier('nda') },
  rules: { classify: classifier('other') },
  crm: {
    find_account: {
      input: { name: text },
      output: result({ id: text, name: text }),
      hints: READS,
      run: ({ name }) => ({ id: `acc-${name.toLowerCase().replace(/\W+/g, '-')}`, name }),
    },
  },
  archive: {
    store: {
      input: { label: text, accounts: list({ type: 'object' }) },
      output: result({ id: text }),
      hints: WRITES,
      run: ({ label, accounts }) => ({ id: `${label}-${accounts.length}` }),
    },
  },
};

const [, , name] = process.argv;
const tools = SERVERS[name] ?? {};

function call({ name: tool, arguments: given = {} }) {
  if (process.env.DEMO_CALLS) appendFileSync(process.env.DEMO_CALLS, `${name}.${tool} ${JSON.stringify(given)}\n`);
  try {
    const structuredContent = tools[tool].run(given);
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
  } catch (error) {
    return { content: [{ type: 'text', text: error.message }], isError: true };
  }
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name, version: '1' },
  }),
  'tools/list': () => ({
    tools: Object.entries(tools).map(([tool, { input, required, output, hints }]) => ({
      name: tool,
      inputSchema: {
        type: 'object',
        properties: input,
        required: required ?? Object.keys(input).slice(0, 1),
        additionalProperties: false,
      },
      outputSchema: output,
      annotations: hints,
    })),
  }),
  'tools/call': call,
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const response = METHODS[method]
      ? { result: METHODS[method](params) }
      : { error: { code: -32601, message: `There is no method ${method}.` } };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...response })}\n`);
  })
  .on('close', () => process.exit(0));
