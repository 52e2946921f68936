import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Config } from '../config.ts';
import { explain } from '../explain.ts';
import { machineWith, zipOf } from '../fixtures.ts';
import { parseServers } from '../read/parse-servers.ts';
import type { LoadOptions } from '../sources-found.ts';

const stdio = (...argv: string[]) => ({ command: argv[0] ?? 'x', args: argv.slice(1) });
const usable = ({ servers }: Config) =>
  [...servers.values()].filter(({ problem }) => problem === undefined).map(({ name }) => name);

describe('the keys that the lists compare', () => {
  const URL_RULE = { serverUrl: 'https://mcp.corp.example/*' };
  const COMMAND_RULE = { serverCommand: ['corp-mcp', 'serve'] };
  const ALLOWED_URL = { url: 'https://mcp.corp.example/*' };
  const ALLOWED_COMMAND = stdio('corp-mcp', 'serve');
  const evilCommand = stdio('sh', '-c', 'evil');
  const evilUrl = { url: 'https://evil.test/' };

  const verdict = async (settings: object, entry: object, more: Partial<LoadOptions> = {}) => {
    const files = { 'project/.mcp.json': { mcpServers: { one: entry } }, 'etc/managed-settings.json': settings };
    return (await (await machineWith(files)).load(more)).servers.get('one')?.problem?.code ?? 'usable';
  };

  for (const list of ['allowedServers', 'allowedMcpServers']) {
    it.each<[string, object, object]>([
      ['stdio with a url', URL_RULE, { type: 'stdio', ...evilCommand, ...ALLOWED_URL }],
      ['sdk with a url', URL_RULE, { type: 'sdk', name: 'x', ...ALLOWED_URL }],
      ['sdk with a command', COMMAND_RULE, { type: 'sdk', name: 'x', ...ALLOWED_COMMAND }],
      ...['http', 'sse', 'proxy'].map((type): [string, object, object] => [
        `${type} with a command`,
        COMMAND_RULE,
        { type, ...evilUrl, ...ALLOWED_COMMAND },
      ]),
      ...['ws', 'ws-ide'].map((type): [string, object, object] => [
        `${type} with a command`,
        COMMAND_RULE,
        { type, url: 'wss://evil.test/', ...ALLOWED_COMMAND },
      ]),
    ])(`are those of its type: ${list}, %s`, async (_name, rule, entry) => {
      expect(await verdict({ [list]: [rule] }, entry)).toBe('SERVER_BLOCKED');
    });
  }

  verifies('C6', 'are those of the server’s type for a denied server too, so another key denies nothing', async () => {
    const entry = { type: 'stdio', ...ALLOWED_COMMAND, url: 'https://evil.test/' };
    expect(await verdict({ deniedServers: [{ serverUrl: 'https://evil.test/' }] }, entry)).toBe('usable');
    expect(await verdict({ deniedServers: [COMMAND_RULE] }, entry)).toBe('SERVER_BLOCKED');
  });

  verifies('C6', 'are the loopback address and port of an IDE, not its `url`', async () => {
    const ide = (url: string) => ({ type: 'sse-ide', url });
    const allowed = (serverUrl: string, url: string) => verdict({ allowedServers: [{ serverUrl }] }, ide(url));
    const denied = (serverUrl: string, url: string) => verdict({ deniedServers: [{ serverUrl }] }, ide(url));
    for (const url of ['http://localhost/sse', 'http://mcp.corp.example/sse']) {
      expect(await allowed(url, url)).toBe('SERVER_BLOCKED');
      expect(await allowed('http://localhost:*/*', url)).toBe('usable');
      expect(await denied('http://127.0.0.1:4555', url)).toBe('SERVER_BLOCKED');
    }
    expect(await allowed('http://localhost:4555/*', 'http://localhost:4555/sse')).toBe('usable');
    expect(await allowed('http://localhost:4555/*', 'http://localhost:4556/sse')).toBe('SERVER_BLOCKED');
    expect(await denied('http://localhost:4555', 'http://localhost:4556/sse')).toBe('usable');
    expect(await denied('http://localhost:4555/sse', 'http://localhost:4555')).toBe('SERVER_BLOCKED');
    expect(await allowed('http://localhost:*/sse', 'http://localhost:4555')).toBe('usable');
  });

  verifies('C6', 'match a denied path with any query, and an allowed path only without one', async () => {
    const rule = { serverUrl: 'https://mcp.corp.example/mcp' };
    const entry = { url: 'https://mcp.corp.example//mcp?x' };
    expect(await verdict({ deniedServers: [rule] }, entry)).toBe('SERVER_BLOCKED');
    expect(await verdict({ allowedServers: [rule] }, entry)).toBe('SERVER_BLOCKED');
  });

  verifies('C6', 'include the command of a `headersHelper`, which a URL rule does not allow', async () => {
    const helper = ['corp-token', '--json'];
    const withHelper = { url: 'https://mcp.corp.example/x', headersHelper: helper };
    const inShell = { ...withHelper, headersHelper: 'corp-token --json' };
    const RULE = { serverCommand: helper };
    const SHELL_RULE = { serverCommand: ['/bin/sh', '-c', 'corp-token --json'] };
    for (const [entry, rule, other] of [
      [withHelper, RULE, SHELL_RULE],
      [inShell, SHELL_RULE, RULE],
    ] as const) {
      expect(await verdict({ allowedServers: [URL_RULE] }, entry)).toBe('SERVER_BLOCKED');
      expect(await verdict({ allowedServers: [URL_RULE, other] }, entry)).toBe('SERVER_BLOCKED');
      expect(await verdict({ allowedServers: [URL_RULE, rule] }, entry)).toBe('usable');
      expect(await verdict({ allowedServers: [rule] }, entry)).toBe('SERVER_BLOCKED');
      expect(await verdict({ deniedServers: [rule] }, entry)).toBe('SERVER_BLOCKED');
      expect(await verdict({ deniedServers: [other] }, entry)).toBe('usable');
      expect(await verdict({ allowedServers: [{ serverName: 'one' }] }, entry)).toBe('usable');
      expect(await verdict({ allowedServers: [{ serverName: 'one' }, COMMAND_RULE] }, entry)).toBe('SERVER_BLOCKED');
    }
  });

  verifies('C7', 'include the command of a `headersHelper`, and the reason is the rule to add', async () => {
    const machine = await machineWith({
      'project/.mcp.json': { mcpServers: { one: { url: 'https://mcp.corp.example/x', headersHelper: 'a "b"' } } },
      'etc/managed-settings.json': { allowedServers: [URL_RULE] },
    });
    const [found] = explain(await machine.load(), 'one.url');
    const rule =
      'allowedServers[0].serverUrl allows this server, but no rule allows its `headersHelper` (to allow it: {"serverCommand": ["/bin/sh","-c","a \\"b\\""]})';
    expect(found?.policy).toMatchObject({ effect: 'block', rule });
  });

  it.each<[string, object]>([
    ['both and no type', { ...evilCommand, ...ALLOWED_URL }],
    ['a type in capitals', { type: 'STDIO', ...evilCommand, ...ALLOWED_URL }],
    ['keys in capitals', { type: 'stdio', ...evilCommand, URL: ALLOWED_URL.url }],
  ])('block an entry that has %s', async (_name, entry) => {
    expect(await verdict({ allowedServers: [URL_RULE] }, entry)).not.toBe('usable');
  });

  const NAMES = ['PATH', 'LD_PRELOAD', 'NODE_OPTIONS', 'npm_config_registry', 'HOME', 'XDG_CONFIG_HOME', 'CLASSPATH'];
  it.each([...NAMES, 'DOTNET_STARTUP_HOOKS', 'GCONV_PATH', 'GIT_SSH_COMMAND', 'HTTPS_PROXY', 'API_KEY'])(
    'include %s in `env`: a command rule allows only the variables that it lists',
    async (name) => {
      const entry = { ...ALLOWED_COMMAND, env: { [name]: '/tmp/evil' } };
      expect(await verdict({ allowedServers: [COMMAND_RULE] }, entry)).toBe('SERVER_BLOCKED');
      expect(await verdict({ allowedServers: [{ ...COMMAND_RULE, env: [name] }] }, entry)).toBe('usable');
      expect(await verdict({ allowedServers: [{ ...COMMAND_RULE, env: ['OTHER'] }] }, entry)).toBe('SERVER_BLOCKED');
      expect(await verdict({ allowedServers: [COMMAND_RULE, { ...COMMAND_RULE, env: [name] }] }, entry)).toBe('usable');
      expect(await verdict({ allowedServers: [{ serverName: 'one' }] }, entry)).toBe('usable');
      for (const env of [undefined, [], ['OTHER']]) {
        expect(await verdict({ deniedServers: [{ ...COMMAND_RULE, ...(env && { env }) }] }, entry)).toBe(
          'SERVER_BLOCKED',
        );
      }
    },
  );

  verifies('C7', 'include `env`, and the reason names every variable that the rule does not list', async () => {
    const entry = { ...ALLOWED_COMMAND, env: { API_KEY: 'x', HOME: '/tmp/evil', REGION: 'eu' } };
    const machine = await machineWith({
      'project/.mcp.json': { mcpServers: { one: entry } },
      'etc/managed-settings.json': { allowedServers: [{ ...COMMAND_RULE, env: ['REGION'] }] },
    });
    const [found] = explain(await machine.load(), 'one.command');
    const rule =
      'allowedServers[0] allows this command, but its `env` does not list `API_KEY`, `HOME` (to allow them: `"env": ["REGION", "API_KEY", "HOME"]`)';
    expect(found?.policy).toMatchObject({
      effect: 'block',
      rule,
      at: { file: machine.path('etc/managed-settings.json') },
    });
    expect(found?.problem?.message).toContain(rule);
  });

  verifies('C6', 'are the same for servers of every source', async () => {
    const settings = { allowedServers: [URL_RULE] };
    const entry = { type: 'stdio', ...evilCommand, ...ALLOWED_URL };
    const machine = await machineWith({
      'etc/managed-settings.json': settings,
      'project/.heddle/plugins/p/.mcp.json': { plugged: { ...entry, args: ['-c', 'plugged'] } },
      'project/.heddle/plugins/b.mcpb': zipOf({
        'manifest.json': JSON.stringify({ name: 'bundled', server: { mcp_config: { ...entry, args: ['bundled'] } } }),
      }),
      'user/.claude.json': { mcpServers: { user: entry } },
    });
    const env = { HEDDLE_MCP_SERVERS: JSON.stringify({ mcpServers: { envy: entry } }) };
    const own = [...parseServers('command', { typed: evilCommand }), ...parseServers('dynamic', { late: evilUrl })];
    const config = await machine.load({ env, programmatic: own });
    expect([...config.servers.keys()].toSorted()).toEqual(['bundled', 'envy', 'late', 'plugged', 'typed', 'user']);
    expect(usable(config)).toEqual([]);
    expect(() => parseServers('dynamic', { both: entry })).toThrow('cannot be used');
  });
});
