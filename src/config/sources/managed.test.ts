import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Config } from '../config.ts';
import { explain } from '../explain.ts';
import { type Machine, machineWith } from '../fixtures.ts';
import { parseServers } from '../read/parse-servers.ts';

const stdio = (...argv: string[]) => ({ command: argv[0] ?? 'x', args: argv.slice(1) });
const USER = {
  mcpServers: {
    shell: stdio('sh', '-c', 'true'),
    files: stdio('${TOOL}', 'serve'),
    good: { url: 'https://mcp.example.com/a' },
    hidden: { url: 'https://${HOST}/mcp' },
    named: { url: 'https://other.test/' },
  },
};
const ENV = { TOOL: 'files-mcp', HOST: 'evil.test' };

async function withPolicy(settings: object | string, env = {}): Promise<{ config: Config; machine: Machine }> {
  const machine = await machineWith({ 'user/.heddle/heddle.json': USER, 'etc/managed-settings.json': settings });
  return { machine, config: await machine.load({ env: { ...ENV, ...env } }) };
}
const usable = ({ servers }: Config) =>
  [...servers.values()].filter(({ problem }) => problem === undefined).map(({ name }) => name);
const ALL = Object.keys(USER.mcpServers);

describe('the server lists of an organisation', () => {
  it.each<[string, object, readonly string[]]>([
    ['no list allows all', {}, ALL],
    ['an empty list allows none', { allowedServers: [] }, []],
    ['a name allows', { allowedServers: [{ serverName: 'good' }, { serverName: 'shell' }] }, ['shell', 'good']],
    ['aliases count', { allowedMcpServers: [{ serverName: 'good' }] }, ['good']],
    [
      'deny wins',
      { allowedServers: [{ serverName: 'good' }], deniedMcpServers: [{ serverUrl: 'https://*.EXAMPLE.com/*' }] },
      [],
    ],
    [
      'ignores names of remote servers if the list has a URL',
      { allowedServers: [{ serverUrl: 'https://*.example.com/*' }, { serverName: 'named' }, { serverName: 'shell' }] },
      ['shell', 'good'],
    ],
    [
      'ignores names of local servers if the list has a command',
      { allowedServers: [{ serverCommand: ['files-mcp', 'serve'] }, { serverName: 'shell' }, { serverName: 'named' }] },
      ['files', 'named'],
    ],
    ['a command is the whole of it', { deniedServers: [{ serverCommand: ['sh', '-c'] }] }, ALL],
    [
      'deny a URL after its variables are expanded',
      { deniedServers: [{ serverUrl: 'https://evil.test/*' }] },
      without('hidden'),
    ],
    ['what is written is denied', { deniedServers: [{ serverCommand: ['${TOOL}', 'serve'] }] }, without('files')],
    ['what is written is allowed', { allowedServers: [{ serverCommand: ['${TOOL}', 'serve'] }] }, ['files']],
    [
      'match a wildcard against the expanded URL, not the written one',
      { allowedServers: [{ serverUrl: 'https://$*/mcp' }] },
      [],
    ],
  ])('%s', async (_name, settings, expected) => {
    expect(usable((await withPolicy(settings)).config)).toEqual(expected);
  });

  function without(name: string): readonly string[] {
    return ALL.filter((other) => other !== name);
  }

  verifies('C7', 'are named with file and line in the verdict', async () => {
    const settings = '{\n  "allowedServers": [\n    { "serverUrl": "https://mcp.example.com/*" }\n  ]\n}';
    const { config, machine } = await withPolicy(settings);
    const file = machine.path('etc/managed-settings.json');
    expect(explain(config, 'good.url')[0]?.policy).toEqual({
      effect: 'allow',
      rule: 'allowedServers[0].serverUrl',
      at: { file, line: 3, column: 7 },
    });
    expect(explain(config, 'named.url')[0]).toMatchObject({
      value: 'https://other.test/',
      policy: { effect: 'block', rule: 'allowedServers does not name it', at: { file, line: 2 } },
      problem: { code: 'SERVER_BLOCKED', message: expect.stringContaining(`(${file}:2:3)`) },
    });
  });

  verifies('C6', 'do not apply to servers of the embedding program, and apply to those of a command line', async () => {
    const machine = await machineWith({ 'etc/managed-settings.json': { allowedServers: [] } });
    const own = [...parseServers('sdk', { heddle: stdio('x') }), ...parseServers('command', { b: stdio('y') })];
    expect(usable(await machine.load({ programmatic: own }))).toEqual(['heddle']);
    expect(() => parseServers('dynamic', { heddle: stdio('x') })).toThrow('reserved');
  });
});

describe('an invalid managed file', () => {
  it.each<[string, string | object]>([
    ['managed-settings.json', '{ "deniedServers": [ }'],
    ['managed-settings.json', { deniedServer: [] }],
    ['managed-settings.json', { deniedServers: [{ serverUrl: 'evil.test' }] }],
    ['managed-settings.json', { deniedServers: [{ serverName: 'a', serverUrl: '*' }] }],
    ['managed-settings.json', { deniedServers: [{}] }],
    ['managed-settings.json', { deniedServers: [{ env: ['A'] }] }],
    ['managed-settings.json', { allowedServers: [{ serverName: 'good', env: ['A'] }] }],
    ['managed-mcp.json', '[]'],
    ['managed-mcp.json/folder', ''],
  ])('blocks all servers except those of the embedding program: %s %j', async (name, content) => {
    const machine = await machineWith({ 'user/.heddle/heddle.json': USER, [`etc/${name}`]: content });
    const config = await machine.load({ programmatic: parseServers('sdk', { own: stdio('x') }) });
    expect(usable(config)).toEqual(['own']);
    expect(config.servers.get('good')?.problem).toMatchObject({
      code: 'SERVER_BLOCKED',
      message: expect.stringContaining('the managed settings cannot be read'),
    });
    expect(config.problems[0]?.at?.file).toContain(machine.path('etc'));
  });
});

describe('managed-mcp.json', () => {
  const MANAGED = { mcpServers: { ours: stdio('ours') } };

  verifies('C6', 'is the only source of servers, except for the embedding program', async () => {
    const machine = await machineWith({
      'etc/managed-mcp.json': MANAGED,
      'user/.heddle/heddle.json': USER,
      'project/.mcp.json': { mcpServers: { theirs: stdio('x') } },
      'project/.heddle/plugins/p/.mcp.json': { plugged: stdio('x') },
    });
    const own = [...parseServers('sdk', { own: stdio('x') }), ...parseServers('command', { typed: stdio('y') })];
    const env = { ...ENV, HEDDLE_MCP_SERVERS: '{"envy":{"command":"x"}}' };
    const config = await machine.load({ programmatic: own, env });
    expect(usable(config)).toEqual(['ours', 'own']);
    expect(config.servers.get('typed')?.problem?.code).toBe('SERVER_BLOCKED');
    expect(config.dropped.map(({ name }) => name).toSorted()).toEqual([...ALL, 'envy', 'plugged', 'theirs'].toSorted());
    expect(explain(config, 'theirs')[0]?.note).toContain('managed-mcp.json is the only source of servers');
  });

  it('keeps settings of other files, except those that allow more tools', async () => {
    const machine = await machineWith({
      'etc/managed-mcp.json': { ...MANAGED, gateway: { port: 1 } },
      'user/.heddle/heddle.json': {
        mode: 'open',
        approvals: { standing: [{ tool: 'mcp__x' }] },
        permissions: { allow: ['mcp__x'], deny: ['mcp__y'] },
        gateway: { port: 2, host: '::1' },
        connectors: [{ name: 'c', url: 'https://h/' }],
      },
    });
    const { settings, problems } = await machine.load();
    expect(settings).toMatchObject({
      mode: 'guarded',
      permissions: { allow: [], deny: ['mcp__y'] },
      approvals: { standing: [] },
      gateway: { port: 1, host: '::1' },
      connectors: [],
    });
    expect(problems.map(({ level, message }) => [level, message.slice(0, 40)])).toEqual([
      ['warn', '`mode` has no effect: this machine is ma'],
      ['warn', '`permissions.allow` has no effect: this '],
      ['warn', '`approvals.standing` has no effect: this'],
    ]);
  });

  it('is subject to the lists of managed-settings.json', async () => {
    const machine = await machineWith({
      'etc/managed-mcp.json': MANAGED,
      'etc/managed-settings.json': { deniedServers: [{ serverCommand: ['ours'] }] },
    });
    expect(usable(await machine.load())).toEqual([]);
  });

  verifies('C6', 'in HEDDLE_MANAGED_DIR is read only if the system folder has no managed file', async () => {
    const machine = await machineWith({
      'named/managed-mcp.json': { mcpServers: { named: stdio('x') } },
      'user/.heddle/heddle.json': USER,
    });
    const env = { ...ENV, HEDDLE_MANAGED_DIR: machine.path('named') };
    expect(usable(await machine.load({ env }))).toEqual(['named']);
    const other = await machineWith({
      'named/managed-mcp.json': { mcpServers: { named: stdio('x') } },
      'etc/managed-settings.json': {},
      'user/.heddle/heddle.json': USER,
    });
    expect(usable(await other.load({ env: { ...ENV, HEDDLE_MANAGED_DIR: other.path('named') } }))).toEqual(ALL);
  });

  it('applies with --config, too', async () => {
    const machine = await machineWith({ 'etc/managed-mcp.json': MANAGED, 'project/my.json': USER });
    expect(usable(await machine.load({ file: 'my.json', env: ENV }))).toEqual(['ours']);
  });
});
