import { mkdir, rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { machineWith } from './fixtures.ts';

verifies('C14', 'accepts `{}` and fills in every default', async () => {
  const machine = await machineWith({ 'project/heddle.json': '{}' });
  const config = await machine.load();
  expect(config.problems).toEqual([]);
  expect(config.servers.size).toBe(0);
  expect(config.settings).toEqual({
    builtins: {
      filesystem: {
        enabled: true,
        allowedPaths: [machine.path('project')],
        maxFileBytes: 10485760,
        readOnly: false,
        clientRoots: false,
      },
      database: { enabled: true, connections: [], queryTimeoutMs: 30_000, maxRows: 1000 },
    },
    mode: 'guarded',
    permissions: { allow: [], ask: [], deny: [] },
    policies: [],
    approvals: {
      sensitiveWords: [],
      timeoutMs: 300_000,
      keepOpenMs: 50_000,
      rules: [],
      standing: [],
      unattended: false,
    },
    budgets: { callers: {}, warnAt: 0.8 },
    hooks: { beforeCall: [], afterCall: [], beforeInputRequest: [], afterInputResponse: [], onApproval: [] },
    audit: { durability: 'commit' },
    limits: { callers: {} },
    connectors: [],
    roots: [],
    sampling: { permission: 'allow', maxCalls: 10, windowMs: 60_000, maxTokens: 4096 },
    connect: { localConcurrency: 3, remoteConcurrency: 20, firstListMs: 8000 },
    gateway: {
      host: '127.0.0.1',
      port: 7433,
      allowedHosts: [],
      allowedOrigins: [],
      maxBodyBytes: 4194304,
      unsent: { connectionBytes: 33554432, callerBytes: 67108864, totalBytes: 268435456, timeoutMs: 30000 },
      apiKeys: [],
    },
    profiles: {},
    workflows: {},
  });
});

verifies('T10', 'resolves roots against the folder of their file, and rejects other URIs than file://', async () => {
  const machine = await machineWith({ 'project/heddle.json': { roots: ['src', '${workspaceFolder}', 'file:///srv'] } });
  const { settings, problems } = await machine.load();
  expect(problems).toEqual([]);
  expect(settings.roots).toEqual([machine.path('project/src'), machine.path('project'), 'file:///srv']);
  const wrong = await machineWith({ 'project/heddle.json': { roots: ['https://example.com/'] } });
  expect(await wrong.load()).toMatchObject({ settings: { roots: [] }, problems: [{ code: 'CONFIG_INVALID' }] });
});

it('loads defaults without any file', async () => {
  const config = await (await machineWith({})).load();
  expect(config.problems).toEqual([]);
  expect(new Set(config.files.map(({ state }) => state))).toEqual(new Set(['absent']));
  await expect(config.refreshed).resolves.toBe(false);
});

verifies('C6', 'prefers the project over the user, and heddle.json over .mcp.json, by whole entry', async () => {
  const machine = await machineWith({
    'project/heddle.json': { mcpServers: { a: { command: 'first' } } },
    'project/.mcp.json': { mcpServers: { a: { command: 'second', args: ['x'] }, b: { command: 'second' } } },
    'user/.heddle/heddle.json': {
      mcpServers: { a: { command: 'third' }, b: { command: 'third' }, c: { url: 'http://c/' } },
    },
  });
  const { servers, problems } = await machine.load();
  expect(problems).toEqual([]);
  expect(servers.get('a')).toMatchObject({ scope: 'project', entry: { command: 'first', args: [] } });
  expect(servers.get('b')).toMatchObject({ scope: 'project', entry: { command: 'second' } });
  expect(servers.get('c')).toMatchObject({ scope: 'user', entry: { type: 'http', url: 'http://c/' } });
  expect(servers.get('a')?.shadowed).toEqual([
    { scope: 'project', at: { file: machine.path('project/.mcp.json'), line: 3, column: 5 } },
    { scope: 'user', at: { file: machine.path('user/.heddle/heddle.json'), line: 3, column: 5 } },
  ]);
});

verifies('C6', 'merges settings one by one, the project first, and unites permissions', async () => {
  const machine = await machineWith({
    'project/heddle.json': { gateway: { port: 1 }, permissions: { deny: ['mcp__x'] } },
    'user/.heddle/heddle.json': {
      gateway: { port: 2, host: '::1' },
      permissions: { deny: ['mcp__y'], allow: ['mcp__z'] },
      limits: { perCaller: { maxCalls: 5, windowMs: 1000 } },
    },
  });
  const { settings } = await machine.load();
  expect(settings.gateway).toMatchObject({ port: 1, host: '::1' });
  expect(settings.permissions).toEqual({ deny: ['mcp__x', 'mcp__y'], allow: ['mcp__z'], ask: [] });
  expect(settings.limits.perCaller).toEqual({ maxCalls: 5, windowMs: 1000 });
});

it('takes a whole rate limit from one file', async () => {
  const machine = await machineWith({
    'project/heddle.json': { limits: { perCaller: { maxCalls: 1 } } },
    'user/.heddle/heddle.json': { limits: { perCaller: { maxCalls: 5, windowMs: 1000 } } },
  });
  const { settings, problems } = await machine.load();
  expect(settings.limits.perCaller).toEqual({ maxCalls: 5, windowMs: 1000 });
  expect(problems).toMatchObject([
    { level: 'error', message: expect.stringMatching(/^`limits.perCaller.windowMs` is missing\. Until/) },
  ]);
  expect(settings.mode).toBe('strict');
});

describe('with --config', () => {
  it('reads only that file, and resolves relative paths against its folder', async () => {
    const machine = await machineWith({
      'project/heddle.json': { mode: 'open' },
      'elsewhere/my.json': { store: 'data', mcpServers: { a: { command: 'x', cwd: 'sub' } } },
    });
    const config = await machine.load({ file: '../elsewhere/my.json' });
    expect(config.files.filter(({ scope }) => scope !== 'enterprise')).toMatchObject([
      { file: machine.path('elsewhere/my.json'), scope: 'config', state: 'found' },
    ]);
    expect(config.servers.get('a')).toMatchObject({ scope: 'config', entry: { cwd: machine.path('elsewhere/sub') } });
    expect(config.settings).toMatchObject({ mode: 'guarded', store: machine.path('elsewhere/data') });
    expect(config.projectFolder).toBe(machine.path('project'));
  });

  it('reports a file that does not exist', async () => {
    const machine = await machineWith({});
    const { problems } = await machine.load({ file: 'none.json' });
    expect(problems).toMatchObject([
      { level: 'error', code: 'CONFIG_INVALID', message: `${machine.path('project/none.json')} does not exist.` },
    ]);
  });
});

describe('the project folder', () => {
  verifies('C5', 'is the nearest one with heddle.json, .mcp.json or .heddle', async () => {
    const machine = await machineWith({
      'project/heddle.json': '{}',
      'project/a/.mcp.json': '{}',
      'project/a/b/.heddle/note': '',
      'project/a/b/c/file': '',
    });
    const folderOf = async (cwd: string): Promise<string> =>
      (await machine.load({ cwd: machine.path(cwd) })).projectFolder;
    expect(await folderOf('project/a/b/c')).toBe(machine.path('project/a/b'));
    expect(await folderOf('project/a')).toBe(machine.path('project/a'));
    expect(await folderOf('project')).toBe(machine.path('project'));
  });

  it('is else the git root, else the current folder', async () => {
    const machine = await machineWith({ 'project/deep/er/file': '', 'plain/file': '' });
    expect((await machine.load({ cwd: machine.path('project/deep/er') })).projectFolder).toBe(machine.path('project'));
    expect((await machine.load({ cwd: machine.path('plain') })).projectFolder).toBe(machine.path('plain'));
  });

  it('is not marked by the user’s own Heddle folder', async () => {
    const machine = await machineWith({
      'user/.heddle/heddle.json': { mcpServers: { a: { command: 'x' } } },
      'user/.heddle/logs/file': '',
      'user/work/file': '',
      'other-home/heddle.json': '{}',
    });
    const config = await machine.load({ cwd: machine.path('user/work') });
    expect(config.projectFolder).toBe(machine.path('user/work'));
    const inside = await machine.load({ cwd: machine.path('user/.heddle') });
    expect(inside.servers.get('a')).toMatchObject({ scope: 'user', shadowed: [] });
    const below = await machine.load({ cwd: machine.path('user/.heddle/logs') });
    expect(below.projectFolder).toBe(machine.path('user/.heddle/logs'));
    const moved = await machine.load({ cwd: machine.path('user/work'), home: machine.path('other-home') });
    expect(moved.projectFolder).toBe(machine.path('user/work'));
  });

  it('may be missing: nothing is thrown', async () => {
    const machine = await machineWith({});
    await mkdir(machine.path('removed'));
    await rm(machine.path('removed'), { recursive: true });
    await expect(machine.load({ cwd: machine.path('removed') })).resolves.toMatchObject({ problems: [] });
  });
});

verifies('C10', 'loads the other files beside a broken one', async () => {
  const machine = await machineWith({
    'project/heddle.json': '{ "mcpServers": }',
    'project/.mcp.json': { mcpServers: { b: { command: 'x' } } },
    'user/.heddle/heddle.json': { mode: 'open', mcpServers: { c: { command: 'y' } } },
  });
  const config = await machine.load();
  expect(config.problems).toMatchObject([{ level: 'error', at: { line: 1, column: 17 } }]);
  expect(config.files.map(({ state }) => state).filter((state) => state !== 'absent')).toEqual([
    'broken',
    'found',
    'found',
  ]);
  expect([...config.servers.keys()]).toEqual(['b', 'c']);
  // The broken file may have rules that deny.
  expect([config.settings.mode, config.hasInvalidRules]).toEqual(['strict', true]);
  expect(config.problems[0]?.message).toContain('Until it is corrected, every external tool needs an approval.');
});

it('reports errors of an entry that is not in force as warnings', async () => {
  const machine = await machineWith({
    'project/heddle.json': { mcpServers: { a: { command: 'x' } } },
    'user/.heddle/heddle.json': { mcpServers: { a: { command: '${NOPE}' } } },
  });
  const { servers, problems } = await machine.load();
  expect(servers.get('a')?.problem).toBeUndefined();
  expect(problems).toMatchObject([{ level: 'warn', code: 'VARIABLE_UNSET', server: 'a' }]);
});

verifies('G2', 'an entry of allowedResources that mixes a template with `*` is a problem', async () => {
  const entry = (allowedResources: readonly string[]) => ({ command: 'x', permissions: { allowedResources } });
  const mcpServers = { good: entry(['file:///a/*', 'file:///b{/c*}', 'u:1']), bad: entry(['file:///{a}/*']) };
  const config = await (await machineWith({ 'project/heddle.json': JSON.stringify({ mcpServers }) })).load();
  expect(config.problems).toMatchObject([
    { message: expect.stringContaining('a URI template or contain `*`, not both') },
  ]);
});
