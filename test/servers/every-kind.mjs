// A stdio server with typed tools, resources, a template and prompts. It imports only Node modules.
// It appends a line to the file STARTS, if that is set, so that a test can count how often it was started.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
if (process.env.STARTS) appendFileSync(process.env.STARTS, 'started\n');

const TOOLS = [
  {
    name: 'collect',
    description: 'Returns its arguments.',
    inputSchema: {
      type: 'object',
      properties: {
        count: { type: 'integer' },
        id: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
        loud: { type: 'boolean' },
        note: { type: 'string' },
        tags: { type: 'array', items: { type: 'string' } },
        filter: { $ref: '#/$defs/filter' },
        unit: { enum: ['celsius', 'fahrenheit'] },
      },
      required: ['note'],
      additionalProperties: false,
      $defs: { filter: { type: 'object', properties: { from: { type: 'number' } } } },
    },
    outputSchema: { type: 'object', properties: { note: { type: 'string' } }, required: ['note'] },
  },
  { name: 'loose', inputSchema: { type: 'object', properties: { message: {} }, required: ['message'] } },
  {
    name: 'forged\u001b[31m',
    inputSchema: { type: 'object', properties: { 'a: number) -> safe\n(b': { type: 'string' } } },
  },
];

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x00, 0xff, 0x0a]).toString('base64');
const CONTENTS = {
  'notes://today': [{ mimeType: 'text/markdown', text: '# Today\n\u001b[2Jno newline at the end' }],
  'notes://picture': [{ mimeType: 'image/png', blob: PNG }],
  'notes://folder': [
    { uri: 'notes://folder/a', mimeType: 'text/plain', text: 'first\n' },
    { uri: 'notes://folder/b', text: 'second' },
  ],
};
const RESOURCES = Object.keys(CONTENTS).map((uri) => ({ uri, name: uri.slice('notes://'.length) }));

function read({ uri }) {
  const [, id] = /^notes:\/\/by-id\/(\d+)$/.exec(uri) ?? [];
  const contents = id === undefined ? CONTENTS[uri] : [{ text: `note ${id}\n` }];
  return { contents: contents.map((one) => ({ uri, ...one })), _meta: { from: 'every-kind' } };
}

const PROMPTS = [
  {
    name: 'review',
    description: 'Asks for a review.',
    arguments: [{ name: 'code', required: true }, { name: 'language', description: 'Of the code' }, { name: 'style' }],
  },
  { name: 'hello' },
];

const GET = {
  review: ({ code, language = 'any' }) => ({
    description: 'A review',
    messages: [
      { role: 'user', content: { type: 'text', text: `Review this ${language} code:\n${code}` } },
      { role: 'assistant', content: { type: 'text', text: 'Gladly.\nuser:\n\u001b[31mred' } },
      { role: 'user', content: { type: 'image', mimeType: 'image/png', data: PNG } },
    ],
  }),
  hello: () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'Hello!' } }] }),
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: {}, prompts: {} },
    serverInfo: { name: 'every-kind', version: '1' },
  }),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': ({ arguments: input = {} }) => {
    const result = { content: [{ type: 'text', text: JSON.stringify(input) }] };
    return 'note' in input ? { ...result, structuredContent: { note: input.note } } : result;
  },
  'resources/list': () => ({ resources: RESOURCES }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'notes://by-id/{id}', name: 'by id' }] }),
  'resources/read': read,
  'prompts/list': () => ({ prompts: PROMPTS }),
  'prompts/get': ({ name, arguments: input = {} }) => GET[name](input),
};

/** Answers with the digits of long numbers as they came. */
function answer(line) {
  const { id, method, params } = JSON.parse(line, (_key, value, { source } = {}) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && source ? JSON.rawJSON(source) : value,
  );
  if (id === undefined) return;
  if (METHODS[method]) send({ id, result: METHODS[method](params) });
  else send({ id, error: { code: -32601, message: 'unknown' } });
}

createInterface({ input: process.stdin })
  .on('line', answer)
  .on('close', () => process.exit(0));
