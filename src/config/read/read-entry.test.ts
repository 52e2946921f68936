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
