import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Config, Scope } from '../../src/config/config.ts';
import { explain } from '../../src/config/explain.ts';
import { type Machine, machineWith } from '../../src/config/fixtures.ts';
import { mergeConfig } from '../../src/config/merge.ts';
import { mergeSettings } from '../../src/config/merge-settings.ts';
import { valueAt } from '../../src/config/read/describe-issue.ts';
import { type Layer, toLayer } from '../../src/config/read/layer.ts';
import { parseDocument } from '../../src/config/read/parse-document.ts';
import { parseServers } from '../../src/config/read/parse-servers.ts';
import type { Json, JsonObject } from '../../src/core/call.ts';
import { verifies } from '../requirements.ts';

interface TestSource {
  readonly scope: Scope;
  readonly file: string;
  readonly needsTrust: boolean;
  readonly wrap: (servers: object, machine: string) => object;
}
const refreshed = Promise.resolve(false);
const nested = (mcpServers: object) => ({ mcpServers });
const source = (scope: Scope, file: string, wrap: TestSource['wrap'] = nested): TestSource => ({
  scope,
  file,
  wrap,
  needsTrust: file.startsWith('project/'),
});

/** All files that may list a server, highest precedence first. */
const FILES: readonly TestSource[] = [
  source('local', 'project/.heddle/local.json'),
  source('local', 'user/.claude.json', (servers, machine) => ({
    projects: { [`${machine}/project`]: { mcpServers: servers, history: [] } },
  })),
  source('local', 'project/.claude/settings.local.json'),
  source('project', 'project/heddle.json'),
  source('project', 'project/.mcp.json'),
  source('project', 'project/.heddle/mcp.json'),
  source('project', 'project/.claude/settings.json'),
  source('user', 'user/.heddle/heddle.json'),
  source('user', 'user/.heddle/mcp.json'),
  source('user', 'user/.claude/mcp.json'),
  source('user', 'user/.claude.json'),
  source('user', 'user/.claude/settings.json'),
  source('plugin', 'project/.heddle/plugins/p/.mcp.json'),
  source('plugin', 'user/.heddle/plugins/p/.mcp.json'),
];

const inFile = ({ file }: TestSource) => ({ command: file, args: [] });

async function write(machine: Machine, sources: readonly TestSource[]): Promise<void> {
  const { mkdir, writeFile } = await import('node:fs/promises');
  const { dirname } = await import('node:path');
  const content = new Map<string, object>();
  for (const one of sources) {
    content.set(one.file, { ...content.get(one.file), ...one.wrap({ a: inFile(one) }, machine.folder) });
  }
  for (const [file, value] of content) {
    await mkdir(dirname(machine.path(file)), { recursive: true });
    await writeFile(machine.path(file), JSON.stringify(value));
  }
}

const PAIRS = FILES.flatMap((winner, index) => FILES.slice(index + 1).map((loser) => ({ winner, loser })));

describe('a server in two sources', () => {
  verifies('C6', 'comes from the source of higher precedence and shadows the other, for every pair', async () => {
    for (const { winner, loser } of PAIRS) {
      const machine = await machineWith({});
      await write(machine, [winner, loser]);
      const { servers, problems } = await machine.load();
      const found = servers.get('a');
      const merged = { pair: [winner.file, loser.file], problems, found };
      expect(merged).toMatchObject({
        problems: [],
        found: {
          scope: winner.scope,
          at: { file: machine.path(winner.file) },
          shadowed: [{ scope: loser.scope, at: { file: machine.path(loser.file) } }],
        },
      });
      expect(found?.entry).toMatchObject({ args: [] });
      expect(found?.needsTrust ?? false).toBe(winner.needsTrust);
    }
  });

  verifies('C5', 'comes from the environment before any file, and from a program before the environment', async () => {
    const machine = await machineWith({});
    await write(machine, FILES);
    const env = { HEDDLE_MCP_SERVERS: '{ "mcpServers": { "a": { "command": "env" } } }' };
    const config = await machine.load({ env });
    expect(config.servers.get('a')).toMatchObject({
      scope: 'environment',
      at: { file: 'HEDDLE_MCP_SERVERS', line: 1, column: 19 },
      entry: { command: 'env' },
    });
    expect(config.servers.get('a')?.shadowed).toHaveLength(FILES.length);
    for (const scope of ['sdk', 'dynamic', 'command'] as const) {
      const programmatic = parseServers(scope, { a: { command: scope } });
      const { servers } = await machine.load({ env, programmatic });
      expect(servers.get('a')).toMatchObject({ scope, entry: { command: scope } });
      expect(servers.get('a')?.shadowed[0]?.scope).toBe('environment');
      expect(explain(await machine.load({ env, programmatic }), 'a.command')).toMatchObject([{ scope, value: scope }]);
    }
  });
});

it('reports an invalid HEDDLE_MCP_SERVERS', async () => {
  const machine = await machineWith({ 'project/heddle.json': { mcpServers: { b: { command: 'x' } } } });
  const { servers, problems } = await machine.load({ env: { HEDDLE_MCP_SERVERS: '{ "a": ' } });
  expect([...servers.keys()]).toEqual(['b']);
  expect(problems).toMatchObject([{ level: 'error', at: { file: 'HEDDLE_MCP_SERVERS', line: 1, column: 8 } }]);
});

describe('the settings of another program', () => {
  it('are read for servers only', async () => {
    const machine = await machineWith({
      'user/.claude.json': { numStartups: 5, projects: { '/else': { mcpServers: { x: { command: 'x' } } } } },
      'project/.claude/settings.json': { permissions: { allow: ['Bash'] }, mcpServers: {} },
      'project/.claude/settings.local.json': '{ "mcpServers": 5 }',
      'user/.claude/settings.json': '{ broken',
    });
    const { servers, problems, settings } = await machine.load();
    expect([servers.size, settings.permissions.allow]).toEqual([0, []]);
    expect(problems.map(({ level, at }) => [level, at?.file])).toEqual([
      ['warn', machine.path('user/.claude/settings.json')],
      ['error', machine.path('project/.claude/settings.local.json')],
    ]);
  });

  it('have the scope user when the current folder is the user’s home', async () => {
    const machine = await machineWith({
      'user/.claude/settings.json': { mcpServers: { a: { command: 'x' } } },
      'user/.heddle/mcp.json': { b: { command: 'y' } },
      'user/.heddle/plugins/p/.mcp.json': { c: { command: 'z' } },
    });
    const { servers } = await machine.load({ cwd: machine.path('user') });
    expect(
      [...servers.values()].map(({ name, scope, needsTrust, shadowed }) => [name, scope, needsTrust, shadowed]),
    ).toEqual([
      ['b', 'user', undefined, []],
      ['a', 'user', undefined, []],
      ['c', 'plugin', undefined, []],
    ]);
  });
});

verifies('C7', 'explains the values of five files', async () => {
  const machine = await machineWith({
    'etc/managed-settings.json': '{ "deniedServers": [{ "serverUrl": "https://*.evil.test/*" }] }',
    'project/.heddle/local.json':
      '{\n  "mode": "strict",\n  "mcpServers": { "db": { "command": "db-mcp", "args": ["--dev"] } }\n}',
    'project/heddle.json':
      '{\n  "mode": "guarded",\n  "mcpServers": {\n    "db": { "command": "db-mcp" },\n    "bad": { "url": "https://x.evil.test/mcp" }\n  }\n}',
    'user/.heddle/heddle.json':
      '{ "gateway": { "port": 8000 },\n  "mcpServers": { "db": { "command": "old" }, "filesystem": { "command": "fs" } } }',
    'project/.heddle/plugins/p/.mcp.json': '{ "copy": { "command": "fs" } }',
  });
  const short = ({ file, line, column }: { file?: string; line?: number; column?: number }) =>
    file === undefined ? '' : ` ${file.replace(`${machine.folder}/`, '')}:${line}:${column}`;
  const rows = explain(await machine.load()).filter(({ scope }) => scope !== 'default');
  const lines = rows.map(({ key, value, scope, shadowed, policy, note, problem, ...at }) => [
    `${key} = ${JSON.stringify(value)} (${scope}${short(at)})`,
    ...shadowed.map((other) => `  over ${other.scope}${short(other)}`),
    ...(policy ? [`  policy ${policy.effect}: ${policy.rule}${short(policy.at ?? {})}`] : []),
    ...(problem ? [`  ${problem.code}`] : []),
    ...(note ? [`  ${note}`] : []),
  ]);
  expect(lines.flat().join('\n')).toMatchInlineSnapshot(`
    "mcpServers.db.command = "db-mcp" (local project/.heddle/local.json:3:27)
      over project project/heddle.json:4:5
      over user user/.heddle/heddle.json:2:19
      policy allow: nothing denies it etc/managed-settings.json:1:1
    mcpServers.db.args = ["--dev"] (local project/.heddle/local.json:3:48)
      over project project/heddle.json:4:5
      over user user/.heddle/heddle.json:2:19
      policy allow: nothing denies it etc/managed-settings.json:1:1
    mcpServers.bad.url = "https://x.evil.test/mcp" (project project/heddle.json:5:14)
      policy block: deniedServers[0].serverUrl etc/managed-settings.json:1:23
      SERVER_BLOCKED
    mcpServers.filesystem.command = "fs" (user user/.heddle/heddle.json:2:63)
      policy allow: nothing denies it etc/managed-settings.json:1:1
      It replaces the built-in server of this name.
    mcpServers.copy = null (plugin project/.heddle/plugins/p/.mcp.json:1:3)
      Not used: It is the same server as \`filesystem\`.
    mode = "strict" (local project/.heddle/local.json:2:3)
      over project project/heddle.json:2:3
    gateway.port = 8000 (user user/.heddle/heddle.json:1:16)"
  `);
});

describe('for any layers', () => {
  const SCOPES: readonly Scope[] = ['enterprise', 'environment', 'local', 'project', 'user', 'plugin', 'connector'];
  const word = fc.constantFrom('x', 'y', 'z');
  const server = fc.oneof(
    fc.record(
      { command: word, args: fc.array(word, { maxLength: 1 }), description: word },
      { requiredKeys: ['command'] },
    ),
    fc.record({ url: word.map((host) => `https://${host}.test/`) }),
    fc.constant({ comand: 'broken' }),
  );
  const file = fc.record(
    {
      mode: fc.constantFrom('guarded', 'strict', 'open'),
      gateway: fc.record({ port: fc.nat(9), host: word }, { requiredKeys: [] }),
      connectors: fc.uniqueArray(fc.record({ name: word, url: word.map((host) => `https://${host}.test/`) }), {
        selector: ({ name }) => name,
        maxLength: 2,
      }),
      mcpServers: fc.dictionary(fc.constantFrom('a', 'b', 'c'), server),
    },
    { requiredKeys: [] },
  );
  const files = fc.array(fc.tuple(fc.nat(SCOPES.length - 1), file), { maxLength: 6 });

  const layersOf = (contents: readonly (readonly [number, object])[]): readonly Layer[] =>
    contents
      .toSorted(([a], [b]) => a - b)
      .map(([scope, content], index) => {
        const document = parseDocument(`/${index}.json`, JSON.stringify(content, null, 1));
        if (!('root' in document)) throw new Error(document.message);
        const variables = { env: {}, workspaceFolder: '/', userHome: '/' };
        return toLayer(SCOPES[scope] ?? 'user', { document, foreign: false, variables, folder: '/' });
      });
  const merged = (layers: readonly Layer[]) =>
    mergeConfig({ projectFolder: '/', files: [], layers, problems: [], mergeSettings, refreshed });

  /** Converts the merged configuration to a layer. */
  function folded(layers: readonly Layer[]): Layer {
    const servers = new Map<string, Layer['servers'][number]>();
    const settings = new Map<string, Layer['settings'][number]>();
    const connectors = new Map<string, Layer['connectors'][number]>();
    for (const layer of layers.toReversed()) {
      for (const one of layer.servers) servers.set(one.name, one);
      for (const one of layer.settings) settings.set(one.path.join('.'), one);
      for (const one of layer.connectors) connectors.set(one.name, one);
    }
    const all = { servers: [...servers.values()], settings: [...settings.values()] };
    return { scope: layers[0]?.scope ?? 'user', ...all, connectors: [...connectors.values()], problems: [] };
  }
  const inForce = ({ servers, settings }: Config) => ({
    servers: Object.fromEntries([...servers].map(([name, { entry }]) => [name, entry ?? null])),
    settings: { ...settings, connectors: settings.connectors.toSorted((a, b) => (a.name < b.name ? -1 : 1)) },
  });

  verifies('C6', 'merging is associative', () => {
    fc.assert(
      fc.property(files, fc.nat(6), fc.nat(6), (contents, one, other) => {
        const layers = layersOf(contents).filter(({ scope }) => scope !== 'plugin' && scope !== 'connector');
        const [from, to] = [Math.min(one, other), Math.max(one, other)];
        const middle = layers.slice(from, to);
        const grouped = [...layers.slice(0, from), ...(middle.length > 0 ? [folded(middle)] : []), ...layers.slice(to)];
        expect(inForce(merged(grouped))).toEqual(inForce(merged(layers)));
      }),
      { seed: 7433, numRuns: 200 },
    );
  });

  verifies('C7', '`explain` shows the value in force', () => {
    fc.assert(
      fc.property(files, (contents) => {
        const config = merged(layersOf(contents));
        const rows = explain(config);
        expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
        for (const { key, value } of rows) expect([key, value]).toEqual([key, effective(config, key.split('.'))]);
      }),
      { seed: 7433, numRuns: 200 },
    );
  });

  function effective({ servers, settings }: Config, [first = '', second = '', ...rest]: readonly string[]): Json {
    if (first === 'mcpServers') return valueAt((servers.get(second)?.entry ?? null) as unknown as Json, rest) ?? null;
    if (first === 'connectors') {
      const { name: _, ...found } = settings.connectors.find(({ name }) => name === second) ?? { name: second };
      return found as JsonObject;
    }
    return valueAt(settings as unknown as JsonObject, second === '' ? [first] : [first, second, ...rest]) ?? null;
  }
});
