import { chmod, stat } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { deskWith } from '../../../src/cli/commands/fixtures.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { verifies } from '../../requirements.ts';

/** A user with a home and a project, and the two commands run there. */
async function machine(files: Readonly<Record<string, string | object>>) {
  const { path, read, heddle } = await deskWith(files);
  const env = {
    HOME: path('home'),
    HEDDLE_HOME: path('home/.heddle'),
    XDG_CONFIG_HOME: '',
    HEDDLE_MANAGED_DIR: path('managed'),
  };
  return { path, heddle: (...words: string[]) => heddle(words, { env }), text: read };
}

const CURSOR = {
  mcpServers: {
    github: { command: 'npx', args: ['-y', 'server-github'], env: { GITHUB_TOKEN: 'ghp_abcdefgh12345' } },
    time: { command: 'uvx', args: ['mcp-server-time'] },
  },
};
const HOME = 'home/.heddle/heddle.json';
const DESK = 'home/.cursor/mcp.json';

verifies(
  'C12',
  'import shows the servers of every host, compared with the configuration, and writes nothing',
  async () => {
    const { heddle, path } = await machine({
      [DESK]: CURSOR,
      'project/.vscode/mcp.json': '{ "servers": { "time": { "type": "stdio", "command": "other" } } }',
      'home/.codex/config.toml': '[mcp_servers.docs]\nurl = "https://mcp.example.com/mcp"\n',
      'home/.gemini/settings.json': '{ broken',
      'project/heddle.json': { mcpServers: { time: { type: 'stdio', command: 'uvx', args: ['mcp-server-time'] } } },
    });
    const { code, stdout, stderr } = await heddle('import');
    const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(rows).toContainEqual(['cursor', 'user', path(DESK), 'github', 'time']);
    expect(rows).toContainEqual(['vscode', 'project', path('project/.vscode/mcp.json'), 'time']);
    expect(rows).toContainEqual(['codex', 'user', path('home/.codex/config.toml'), 'docs']);
    expect(stderr).toMatch(/\.gemini\/settings\.json:1:\d+: /);
    expect(stdout).not.toContain('ghp_');
    expect(code).toBe(0);
    await expect(stat(path(HOME))).rejects.toThrow();
    const { files } = JSON.parse((await heddle('import', '--json')).stdout);
    const states = files.flatMap((one: { host: string; servers: { name: string; state: string }[] }) =>
      one.servers.map(({ name, state }) => `${one.host} ${name} ${state}`),
    );
    expect(states).toEqual(expect.arrayContaining(['cursor github new', 'cursor time same', 'vscode time different']));
  },
);

verifies('C12', 'import of one host shows the change, and makes it with --write', async () => {
  const { heddle, path, text } = await machine({
    [DESK]: CURSOR,
    [HOME]: '{\n  // mine\n  "mcpServers": {\n    "time": { "command": "mine" }\n  }\n}\n',
  });
  const shown = await heddle('import', 'cursor');
  expect(shown.stdout).toContain('+    "github": {');
  expect(shown.stdout + shown.stderr).not.toContain('ghp_');
  expect(shown.stderr).toContain('github.GITHUB_TOKEN would go into the secret store.');
  expect(await text(HOME)).toContain('"mine"');
  expect(await text(HOME)).not.toContain('github');

  const written = await heddle('import', 'cursor', '--write');
  expect(written).toMatchObject({ code: 0 });
  expect(written.stdout + written.stderr).not.toContain('ghp_');
  expect(written.stderr).toContain(`${path(HOME)} has time already; it was kept.`);
  expect(await text(HOME)).toContain('// mine');
  expect(JSON.parse((await text(HOME)).replace('// mine', '')).mcpServers).toEqual({
    time: { command: 'mine' },
    github: { ...CURSOR.mcpServers.github, env: { GITHUB_TOKEN: '${secret:github.GITHUB_TOKEN}' } },
  });

  await heddle('import', 'cursor', 'time', '--write', '--force');
  expect(JSON.parse((await text(HOME)).replace('// mine', '')).mcpServers.time).toEqual(CURSOR.mcpServers.time);
});

verifies('C12', 'import writes into the given scope, and reads a given file', async () => {
  const { heddle, text, path } = await machine({ 'somewhere/x.json': CURSOR });
  expect(
    await heddle('import', 'cursor', 'time', '--write', '--scope', 'project', '--file', path('somewhere/x.json')),
  ).toMatchObject({ code: 0 });
  expect(JSON.parse(await text('project/heddle.json')).mcpServers).toEqual({ time: CURSOR.mcpServers.time });
  expect(
    await heddle('import', 'cursor', '--write', '--scope', 'local', '--file', path('somewhere/x.json')),
  ).toMatchObject({
    code: 0,
  });
  expect(Object.keys(JSON.parse(await text('project/.heddle/local.json')).mcpServers)).toEqual(['github', 'time']);
});

verifies('C12', 'import does not copy a server that is there already, and does not report it as written', async () => {
  const { heddle, path } = await machine({ [DESK]: CURSOR });
  expect((await heddle('import', 'cursor', '--write')).stderr).toContain('The secret github.GITHUB_TOKEN is in');
  const again = await heddle('import', 'cursor', '--write');
  expect(again.stderr).not.toContain('secret');
  expect(again.stderr).toContain(`${path(HOME)} has the same already, so nothing is copied: github, time.`);
  expect(again.stdout).toContain('Nothing had to be imported.');
  expect(again.stdout).not.toContain('→');
});

verifies(
  'C12',
  'import keeps each server in the scope of its file, and leaves files alone that Heddle reads',
  async () => {
    const live = { command: 'live-server' };
    const { heddle, path, text } = await machine({
      [DESK]: { mcpServers: { time: CURSOR.mcpServers.time, filesystem: { command: 'files-server' } } },
      'home/.claude.json': { mcpServers: { mine: live } },
      'project/.mcp.json': { mcpServers: { live } },
      'project/.vscode/mcp.json': { servers: { docs: { type: 'stdio', command: 'docs-server' } } },
    });
    const { code, stderr, stdout } = await heddle('import', '--write');
    expect(code).toBe(0);
    expect(Object.keys(JSON.parse(await text(HOME)).mcpServers)).toEqual(['time', 'filesystem']);
    expect(Object.keys(JSON.parse(await text('project/heddle.json')).mcpServers)).toEqual(['docs']);
    expect(stderr).toContain(`Heddle reads ${path('project/.mcp.json')} itself, so nothing is copied: live.`);
    expect(stderr).toContain(`Heddle reads ${path('home/.claude.json')} itself, so nothing is copied: mine.`);
    expect(stderr).toContain('filesystem replaces the server of that name that comes with Heddle.');
    expect(stderr).toContain('still to be trusted: docs.');
    expect(stdout).toContain(`docs → ${path('project/heddle.json')} (project)`);

    const again = JSON.parse((await heddle('import', '--write', '--json')).stdout);
    expect(again).toMatchObject({
      changes: [],
      changed: false,
      notImported: ['mine', 'live', 'time', 'filesystem', 'docs'],
    });
    // A scope that the user names is taken; so is `--force`.
    await heddle('import', 'claude-code', 'live', '--write', '--scope', 'user');
    expect(JSON.parse(await text(HOME)).mcpServers.live).toEqual(live);
    await heddle('import', 'claude-code', 'live', '--write', '--force');
    expect(JSON.parse(await text('project/heddle.json')).mcpServers.live).toEqual(live);
  },
);

verifies('C12', 'import finds a server the same after its secrets were moved into the secret store', async () => {
  const { heddle } = await machine({ [DESK]: CURSOR });
  expect(await heddle('import', 'cursor', '--write')).toMatchObject({ code: 0 });
  const { stderr, stdout } = await heddle('import', 'cursor', '--write');
  expect(stderr).toContain('so nothing is copied: github, time.');
  expect(stdout).toContain('Nothing had to be imported.');
});

verifies(
  'C11',
  'what a person imports from their own files is trusted, from a file of the project it is not',
  async () => {
    const docs = { command: 'docs-server', env: { NODE_OPTIONS: '-r ./x.js' } };
    const { heddle, path } = await machine({ [DESK]: CURSOR, 'project/.cursor/mcp.json': { mcpServers: { docs } } });
    const { stderr } = await heddle('import', 'cursor', '--write', '--scope', 'project');
    expect(stderr).toContain('still to be trusted: docs.');
    const { untrusted } = await readConfig({ cwd: path('project'), env: { HEDDLE_HOME: path('home/.heddle') } });
    expect(untrusted.map(({ thing }) => thing)).toEqual(['server docs']);
  },
);

verifies('C12', 'export names the servers of the host that it would replace, and that it has replaced', async () => {
  const { heddle } = await machine({
    [DESK]: { mcpServers: { time: { command: 'theirs' }, other: { command: 'x' } } },
    [HOME]: { mcpServers: { time: { command: 'ours' }, fresh: { command: 'y' } } },
  });
  expect((await heddle('export', 'cursor')).stderr).toBe('time is there already and differs; --write replaces it.\n');
  expect((await heddle('export', 'cursor', '--write')).stderr).toBe(
    'time was there already and differed; it was replaced.\n',
  );
  expect(JSON.parse((await heddle('export', 'cursor', '--write', '--json')).stdout)).toMatchObject({ replaced: [] });
});

it.each([
  [['import', 'curser'], 'Did you mean cursor?'],
  [['import', '--file', 'x'], 'Name the host first'],
  [['import', 'cursor', 'tim'], 'Did you mean `time`?'],
  [['import', 'cursor', '--scope', 'world'], 'There is no scope world'],
  [['export'], 'No host to export to was given'],
  [['export', 'cursor', 'nothing'], 'There is no server `nothing`'],
  [['export', 'claude-desktop', '--scope', 'project'], 'Use --scope user'],
  [['export', 'cursor', '--rollback'], 'There is no copy to restore'],
])('%j is refused with a way out', async (words, fix) => {
  const { heddle } = await machine({ [DESK]: CURSOR, [HOME]: { mcpServers: { a: { command: 'a' } } } });
  const { code, stderr } = await heddle(...words);
  expect(code).toBe(2);
  expect(stderr).toContain(fix);
});

it('import exits with code 3 if the only file of the host is broken', async () => {
  const { heddle } = await machine({ [DESK]: '{ "mcpServers": [] }' });
  expect(await heddle('import', 'cursor')).toMatchObject({ code: 3, stderr: expect.stringContaining(':1:17: ') });
});

verifies('C12', 'export shows a diff, writes after a backup, and rolls back', async () => {
  const before = '{\n  // mine\n  "mcpServers": {\n    "other": { "command": "other" }\n  }\n}\n';
  const { heddle, text, path } = await machine({
    [DESK]: before,
    [HOME]: { mcpServers: { api: { url: 'https://mcp.example.com', headers: { Authorization: 'Bearer abcdef' } } } },
  });
  const shown = await heddle('export', 'cursor');
  expect(shown.stdout).toContain('+    "api": {');
  expect(shown.stdout).toContain('   // mine');
  expect(shown.stdout + shown.stderr).not.toContain('abcdef');
  expect(await text(DESK)).toBe(before);

  const written = await heddle('export', 'cursor', '--write');
  expect(written.stderr).toContain('headers.Authorization of api looks like a secret');
  expect(written.stdout + written.stderr).not.toContain('abcdef');
  expect(await text(DESK)).toContain('// mine');
  expect(await text(DESK)).toContain('abcdef');
  expect(await text(`${DESK}.heddle-backup`)).toBe(before);
  expect((await heddle('export', 'cursor', '--write')).stdout).toContain('has all of it already');
  expect(await text(`${DESK}.heddle-backup`)).toBe(before);

  expect(await heddle('export', 'cursor', '--rollback')).toMatchObject({ code: 0 });
  expect(await text(DESK)).toBe(before);
  await expect(stat(path(`${DESK}.heddle-backup`))).rejects.toThrow();
});

verifies('C11', 'export leaves out servers that are untrusted or blocked, and names them', async () => {
  const { heddle, text } = await machine({
    [HOME]: { mcpServers: { mine: { command: 'uvx', args: ['mine'] }, banned: { command: 'banned' } } },
    'project/.mcp.json': {
      mcpServers: {
        theirs: { command: 'sh', args: ['-c', 'evil'] },
        unset: { command: 'sh', args: ['-c', 'evil'], env: { A: '${NOT_SET_ANYWHERE}' } },
        off: { command: 'sh', args: ['-c', 'evil'], enabled: false },
      },
    },
    'managed/managed-settings.json': { deniedServers: [{ serverName: 'banned' }] },
  });
  const { code, stderr } = await heddle('export', 'cursor', '--scope', 'user', '--write');
  expect(code).toBe(0);
  expect(Object.keys(JSON.parse(await text(DESK)).mcpServers)).toEqual(['mine']);
  expect(stderr).toContain('theirs is not exported: it is untrusted');
  expect(stderr).toContain('banned is not exported: it is blocked');
  for (const name of ['unset', 'off']) expect(stderr).toContain(`${name} is not exported: it is disabled or invalid`);
  expect((await heddle('export', 'cursor', 'theirs', '--write')).code).toBe(2);
});

verifies('C12', 'a rollback deletes a file that export created', async () => {
  const { heddle, text, path } = await machine({ [HOME]: { mcpServers: { a: { command: 'a' } } } });
  expect(await heddle('export', 'vscode', '--scope', 'project', '--write', '--json')).toMatchObject({ code: 0 });
  expect(JSON.parse(await text('project/.vscode/mcp.json'))).toEqual({
    servers: { a: { type: 'stdio', command: 'a' } },
  });
  await heddle('export', 'vscode', '--scope', 'project', '--rollback');
  await expect(stat(path('project/.vscode/mcp.json'))).rejects.toThrow();
});

it('a private file and its backup stay private', async () => {
  const { heddle, path } = await machine({
    'home/.codex/config.toml': 'model = "m"\n',
    [HOME]: { mcpServers: { a: { command: 'a' } } },
  });
  await chmod(path('home/.codex/config.toml'), 0o600);
  await heddle('export', 'codex', '--write');
  for (const name of ['config.toml', 'config.toml.heddle-backup']) {
    expect((await stat(path(`home/.codex/${name}`))).mode & 0o777).toBe(0o600);
  }
});

it('export does not change a broken file, and reports the position of the error', async () => {
  const { heddle, text } = await machine({
    [DESK]: '{\n  "mcpServers" {}\n}',
    [HOME]: { mcpServers: { a: { command: 'a' } } },
  });
  expect(await heddle('export', 'cursor', '--write')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(':2:16: '),
  });
  expect(await text(DESK)).toBe('{\n  "mcpServers" {}\n}');
});

it('says that no host has servers to import, with and without --write', async () => {
  const { heddle } = await machine({});
  expect((await heddle('import')).stdout).toContain('No other host on this machine has servers to import.');
  expect((await heddle('import', '--write')).stderr).toContain('No other host on this machine has servers to import.');
  expect((await heddle('import', 'cursor', '--write')).stderr).toContain('Cursor has no servers here to import.');
});

it('connect names only the hosts that it takes', async () => {
  const { heddle } = await machine({});
  const { code, stderr } = await heddle('connect', 'nope');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/Use one of .*\bcursor\b/)]);
  expect(stderr).not.toContain('registry');
  expect((await heddle('import', 'nope')).stderr).toContain('registry');
});
