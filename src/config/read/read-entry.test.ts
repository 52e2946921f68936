import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Config } from '../config.ts';
import { machineWith } from '../fixtures.ts';

async function own(content: object | string): Promise<Config> {
  return (await machineWith({ 'project/heddle.json': content })).load();
}
async function foreign(content: object | string): Promise<Config> {
  return (await machineWith({ 'project/.mcp.json': content })).load();
}
const messagesOf = ({ problems }: Config) => problems.map(({ level, message, fix }) => `${level}: ${message} ${fix}`);

verifies('C2', 'derives the type of an entry from its fields', async () => {
  const { servers } = await own({
    mcpServers: {
      a: { command: 'x' },
      b: { url: 'https://h/mcp' },
      c: { type: 'sse', url: 'https://h/sse' },
      d: { type: 'ws', url: 'wss://h/' },
      e: { type: 'sdk', name: 'n' },
    },
  });
  expect([...servers.values()].map(({ entry }) => entry?.type)).toEqual(['stdio', 'http', 'sse', 'ws', 'sdk']);
});

verifies('C3', 'adds only the defaults to an entry', async () => {
  const { servers } = await own({ mcpServers: { a: { command: 'x' } } });
  expect(servers.get('a')?.entry).toEqual({
    type: 'stdio',
    command: 'x',
    args: [],
    env: {},
    priority: 0,
    enabled: true,
    trusted: false,
    autoConnect: false,
    reconnect: { maxAttempts: 3, delayMs: 5000 },
    permissions: {},
    tools: {},
  });
});

it.each([
  [
    { command: 'x', transport: 'stdio' },
    '`mcpServers.a.transport` is not a name Heddle knows. Write `type` instead of `transport`.',
  ],
  [{ command: 'x', id: 'a' }, 'Remove `id`; the key in `mcpServers` is the name of the server.'],
  [{ url: 'ws://h', type: 'websocket' }, 'Did you mean `ws`?'],
  [{ command: 'x', type: 'sdio' }, '`mcpServers.a.type` must be one of `stdio`, `http`, `sse`'],
  [{ command: 'x', timeout_ms: 5 }, '`mcpServers.a.timeout_ms` is not a name Heddle knows. Did you mean `timeoutMs`?'],
  [{ comand: 'x' }, '`mcpServers.a.comand` is not a name Heddle knows. Did you mean `command`?'],
  [{ command: 'x', tools: { t: { risklevel: 'low' } } }, 'Did you mean `riskLevel`?'],
  [{ command: 'x', headers: {} }, '`mcpServers.a.headers` belongs to a server reached by `url`'],
  [{ command: 'x', url: 'http://h' }, 'The server `a` has both `command` and `url`.'],
  [{ description: 'x' }, 'The server `a` has neither `command` nor `url`.'],
  [{ url: 'nonsense' }, '`mcpServers.a.url` is not a URL that can be used here.'],
  [{ url: 'ws://h' }, 'Add `"type": "ws"`'],
  [{ command: 5 }, '`mcpServers.a.command` must be a string, not a number.'],
  [{ command: '' }, '`mcpServers.a.command` is empty.'],
  [{ command: 'x', args: 'y' }, '`mcpServers.a.args` must be an array, not a string.'],
  [{ command: 'x', timeoutMs: 0.5 }, '`mcpServers.a.timeoutMs` must be a whole number, not a fraction.'],
  [{ command: 'x', limits: { maxCalls: 1 } }, '`mcpServers.a.limits.windowMs` is missing.'],
  [{ command: 'x', enabled: null }, '`mcpServers.a.enabled` must be a boolean, not null.'],
  [{ url: 'http://h', headers: { A: 'one\ntwo' } }, '`mcpServers.a.headers.A` must be a single line.'],
  [{ url: 'https://h', headers: { Host: 'evil.test' } }, '`mcpServers.a.headers.Host` is the host of `url`'],
  [{ url: 'https://h', headers: { hOST: 'h' } }, '`mcpServers.a.headers.hOST` is the host of `url`'],
  ['x', 'The server `a` is not an object.'],
])('rejects the entry %j and no other', async (entry, message) => {
  const config = await own({ mcpServers: { a: entry, b: { command: 'fine' } } });
  expect(messagesOf(config)[0]).toContain(`error: `);
  expect(messagesOf(config)[0]).toContain(message);
  expect(config.servers.get('a')).toMatchObject({ scope: 'project', problem: config.problems[0] });
  expect(config.servers.get('a')?.entry).toBeUndefined();
  expect(config.servers.get('b')?.entry).toBeDefined();
  expect(config.problems.every(({ server, at }) => server === 'a' && at !== undefined)).toBe(true);
});

verifies('C10', 'reports line and column of an error in an entry', async () => {
  const { problems } = await own('{ "mcpServers": {\n  "a": {\n    "command": "x",\n    "agrs": []\n} } }');
  expect(problems).toMatchObject([{ at: { line: 4, column: 5 }, fix: 'Did you mean `args`?' }]);
});

verifies('C8', 'rejects reserved names and names with other characters', async () => {
  const names = ['heddle', 'heddle-x', 'workflow', 'a.b', 'a b', '', 'é'];
  const config = await own({ mcpServers: Object.fromEntries(names.map((name) => [name, { command: 'x' }])) });
  expect([...config.servers.keys()]).toEqual(names);
  expect([...config.servers.values()].filter(({ entry }) => entry !== undefined)).toEqual([]);
  expect(config.problems).toHaveLength(names.length);
});

verifies('C8', 'accepts an entry named filesystem', async () => {
  const { servers, problems } = await own({
    mcpServers: { filesystem: { command: 'x' }, heddles: { command: 'y' } },
  });
  expect(problems).toEqual([]);
  expect(servers.get('filesystem')).toMatchObject({ scope: 'project', entry: { command: 'x' } });
});

it('uses the last of two entries with one name, with a warning', async () => {
  const config = await own('{ "mcpServers": { "a": { "command": "x" },\n "a": { "command": "y" } } }');
  expect(config.servers.get('a')?.entry).toMatchObject({ command: 'y' });
  expect(config.problems).toMatchObject([{ level: 'warn', server: 'a', at: { line: 2, column: 2 } }]);
});

it.each([own, foreign])('rejects an entry with `__proto__` inside, and one of that name (%#)', async (load) => {
  const config = await load(
    '{ "mcpServers": { "__proto__": { "command": "x" }, "a": { "command": "x", "env": { "__proto__": "y" } } } }',
  );
  expect([...config.servers.keys()]).toEqual(['a']);
  expect(config.servers.get('a')).toMatchObject({ problem: { level: 'error' } });
  expect(config.problems.map(({ server }) => server)).toEqual([undefined, 'a']);
});

verifies('C2', 'honours `disabled` and `streamable-http` in a file of other programs; `enabled` wins', async () => {
  const config = await foreign({
    mcpServers: {
      off: { command: 'x', disabled: true },
      on: { command: 'x', disabled: false },
      again: { command: 'x', disabled: true, enabled: true },
      streamed: { type: 'streamable-http', url: 'https://h.example/mcp' },
    },
  });
  expect(messagesOf(config)).toEqual([]);
  expect([...config.servers.values()].map(({ name, entry }) => [name, entry?.enabled, entry?.type])).toEqual([
    ['off', false, 'stdio'],
    ['on', true, 'stdio'],
    ['again', true, 'stdio'],
    ['streamed', true, 'http'],
  ]);
});

it('warns of a `disabled` that is no boolean, and refuses it in heddle.json with the right name', async () => {
  const warned = await foreign({ mcpServers: { a: { command: 'x', disabled: 'yes' } } });
  expect(messagesOf(warned)).toEqual([expect.stringContaining('Write `"enabled": false` instead of `disabled`.')]);
  expect(warned.servers.get('a')?.entry?.enabled).toBe(true);
  const refused = await own({ mcpServers: { a: { command: 'x', disabled: true } } });
  expect(messagesOf(refused)).toEqual([expect.stringMatching(/^error: .*Write `"enabled": false` instead/)]);
});

verifies('C2', 'reports no unset variable or secret of a disabled server, and every other mistake', async () => {
  const off = { enabled: false };
  const config = await own({
    mcpServers: {
      env: { command: '${UNSET_A}', args: ['${UNSET_B}'], env: { C: '${secret:unset}' }, ...off },
      url: { url: '${UNSET_URL}/mcp', headers: { Authorization: 'Bearer ${UNSET}' }, ...off },
      socket: { type: 'ws', url: 'wss://${UNSET}', ...off },
      signed: { url: 'https://h.example/', oauth: { clientMetadataUrl: '${UNSET}' }, ...off },
      wrong: { command: '${a b}', ...off },
    },
  });
  expect(messagesOf(config)).toEqual([expect.stringContaining('is not something Heddle expands')]);
  for (const name of ['env', 'url', 'socket', 'signed']) {
    expect(config.servers.get(name)).toMatchObject({ entry: { enabled: false } });
    expect(config.servers.get(name)?.problem).toBeUndefined();
  }
});

const extensions = (value: unknown) =>
  own({ mcpServers: { a: { command: 'x', extensions: value }, b: { command: 'fine' } } });
const idsUpTo = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`com.example/e${at}`, {}]));
const methodsUpTo = (count: number) => Array.from({ length: count }, (_, at) => `acme/m${at}`);

verifies('T13', 'reads the methods of extensions that an entry lists', async () => {
  const { servers, problems } = await extensions({
    'com.example/export': { methods: ['acme/export'] },
    'com.example/x': {},
  });
  expect(problems).toEqual([]);
  const expected = { 'com.example/export': { methods: ['acme/export'] }, 'com.example/x': { methods: [] } };
  expect(servers.get('a')?.entry?.extensions).toEqual(expected);
});

it('accepts 64 extensions of 64 methods each', async () => {
  const all = Object.fromEntries(Object.keys(idsUpTo(64)).map((id) => [id, { methods: methodsUpTo(64) }]));
  expect((await extensions(all)).problems).toEqual([]);
});

it.each([
  ...['tools/call', 'tools/list', 'resources/read', 'prompts/get', 'completion/complete', 'server/discover'],
  ...['subscriptions/listen', 'logging/setLevel', 'tasks/get', 'tasks/anything', 'skills/list', 'skills/get'],
  ...[
    'resources/directory/read',
    'notifications/cancelled',
    'sampling/createMessage',
    'roots/list',
    'Tools/Call',
    'rpc.x',
  ],
])('T13: refuses the core method %s, with its place', async (method) => {
  const { problems, servers } = await extensions({ 'com.example/x': { methods: ['acme/fine', method] } });
  expect(problems[0]?.message).toContain(
    '`mcpServers.a.extensions.com.example/x.methods[1]` is a method of MCP itself',
  );
  expect(problems[0]?.at).toMatchObject({ line: 9 });
  expect(servers.get('a')?.entry).toBeUndefined();
  expect(servers.get('b')?.entry).toBeDefined();
});

it.each([
  ['more than 64 extensions', idsUpTo(65), 'must have at most 64 extensions'],
  ['more than 64 methods', { x: { methods: methodsUpTo(65) } }, 'methods`'],
  ['a method of 129 characters', { x: { methods: [`acme/${'m'.repeat(124)}`] } }, 'methods[0]`'],
  ['an empty method', { x: { methods: [''] } }, 'methods[0]`'],
  ['a bare word, which may be a tool', { x: { methods: ['ping'] } }, 'methods[0]`'],
  ['a method with a space', { x: { methods: ['acme/a b'] } }, 'methods[0]` must be a method such as'],
  ['a method with a line break', { x: { methods: ['acme/a\nb'] } }, 'methods[0]` must be a method such as'],
  ['a method with a wildcard', { x: { methods: ['acme/*'] } }, 'methods[0]` must be a method such as'],
  ['a method that is no string', { x: { methods: [7] } }, 'methods[0]` must be a string'],
  ['an id with a control character', { 'a\u0007': {} }, 'a server'],
  ['another field', { x: { method: [] } }, 'Did you mean `methods`?'],
])('refuses %s', async (_what, value, message) => {
  const { problems, servers } = await extensions(value);
  if (message !== 'a server') expect(messagesOf({ problems } as Config).join('\n')).toContain(message);
  expect(problems[0]?.server).toBe('a');
  expect(servers.get('a')?.entry).toBeUndefined();
});
