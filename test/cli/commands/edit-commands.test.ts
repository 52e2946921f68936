import { readdir, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { deskWith } from '../../../src/cli/commands/fixtures.ts';
import { verifies } from '../../requirements.ts';

const SECRET = 'hunter2-is-the-value';
const PROJECT = `{
  // ours
  "mcpServers": {
    "a": { "command": "x" }, // first
    "b": {
      "command": "y",
      "env": { "API_KEY": "${SECRET}", "REF": "\${VARIABLE}" }
    }
  }
}
`;

describe('remove', () => {
  verifies('L1', 'removes a server from the file that has it, and keeps the rest', async () => {
    const desk = await deskWith({ 'project/heddle.json': PROJECT });
    const file = desk.path('project/heddle.json');
    expect(await desk.heddle(['remove', 'a'])).toEqual({
      code: 0,
      stdout: `Removed a from ${file} (project).\n`,
      stderr: '',
    });
    expect(await desk.read('project/heddle.json')).toBe(PROJECT.replace('    "a": { "command": "x" }, // first\n', ''));
  });

  it('removes it from the active file first, and prints which file is active then', async () => {
    const mine = { mcpServers: { a: { command: 'mine' } } };
    const desk = await deskWith({ 'project/heddle.json': PROJECT, 'home/heddle.json': mine });
    const ran = await desk.heddle(['remove', 'a', '--json']);
    expect(JSON.parse(ran.stdout)).toMatchObject({ removed: 'a', scope: 'project', changed: true });
    expect(ran.stderr).toContain(`a is still in ${desk.path('home/heddle.json')}`);
    expect(await desk.heddle(['remove', 'a', '--scope', 'user'])).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(await desk.read('home/heddle.json'))).toEqual({ mcpServers: {} });
  });

  it('works on a .mcp.json without `mcpServers`', async () => {
    const desk = await deskWith({
      'project/.mcp.json': '{\n  "a": { "command": "x" },\n  "b": { "url": "http://b/" }\n}\n',
    });
    expect(await desk.heddle(['remove', 'b'])).toMatchObject({ code: 0 });
    expect(await desk.read('project/.mcp.json')).toBe('{\n  "a": { "command": "x" }\n}\n');
  });

  it('shows the diff with --dry-run, without secrets, and writes nothing', async () => {
    const desk = await deskWith({ 'project/heddle.json': PROJECT });
    const ran = await desk.heddle(['remove', 'b', '--dry-run']);
    expect(ran.stdout).toContain('-    "b": {');
    expect(ran.stdout).toContain('"REF": "${VARIABLE}"');
    expect(ran.stdout).not.toContain(SECRET);
    expect(await desk.read('project/heddle.json')).toBe(PROJECT);
  });
});

describe('an unknown name', () => {
  const files = { 'project/heddle.json': { mcpServers: { github: { command: 'x' } } } };
  it.each(['remove', 'enable', 'disable', 'get'])('gets a suggestion from %s', async (command) => {
    const desk = await deskWith(files);
    const ran = await desk.heddle([command, 'gihtub']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('NAME_UNKNOWN');
    expect(ran.stderr).toContain('Did you mean `github`?');
  });

  it.each(['remove', 'enable', 'disable', 'get'])('is required by %s', async (command) => {
    const desk = await deskWith(files);
    expect(await desk.heddle([command])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No server to '),
    });
    expect(await desk.heddle([command, 'a', 'b'])).toMatchObject({ code: 2 });
  });

  it('is distinguished from one of another scope and from a built-in server', async () => {
    const desk = await deskWith(files);
    const elsewhere = await desk.heddle(['disable', 'github', '--scope', 'user']);
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(desk.path('project/heddle.json')) });
    const SWITCH_OFF = 'Set `builtins.filesystem.enabled` to false in heddle.json';
    const builtIn = await desk.heddle(['disable', 'filesystem']);
    expect(builtIn).toMatchObject({ code: 2, stderr: expect.stringContaining(SWITCH_OFF) });
  });
});

describe('enable and disable', () => {
  verifies('C3', 'write `enabled` into the entry, which `list` shows', async () => {
    const desk = await deskWith({ 'project/heddle.json': PROJECT });
    expect(await desk.heddle(['disable', 'a'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('a is disabled in'),
    });
    expect(await desk.read('project/heddle.json')).toBe(
      PROJECT.replace('{ "command": "x" }', '{ "command": "x", "enabled": false }'),
    );
    const listed = JSON.parse((await desk.heddle(['list', 'servers', '--json'])).stdout);
    expect(listed.find(({ name }: { name: string }) => name === 'a')).toMatchObject({ state: 'disabled' });
    await desk.heddle(['enable', 'a']);
    expect(await desk.read('project/heddle.json')).toBe(
      PROJECT.replace('{ "command": "x" }', '{ "command": "x", "enabled": true }'),
    );
  });

  it('change nothing with --dry-run', async () => {
    const desk = await deskWith({ 'project/heddle.json': PROJECT });
    const ran = await desk.heddle(['disable', 'b', '--dry-run', '--json']);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      name: 'b',
      enabled: false,
      diff: expect.stringContaining('+      "enabled": false'),
    });
    expect(ran.stdout).not.toContain(SECRET);
    expect(await desk.read('project/heddle.json')).toBe(PROJECT);
  });
});

describe('get', () => {
  verifies('L1', 'shows the settings of a built-in server, without secrets', async () => {
    const url = `postgres://reader:${SECRET}@db.example.com/shop`;
    const connections = [{ name: 'shop', type: 'postgres', url }];
    const desk = await deskWith({ 'home/heddle.json': { builtins: { database: { connections } } } });
    const json = await desk.heddle(['get', 'database', '--json']);
    const shown = { scope: 'builtin', inForce: { enabled: true, connections: [{ name: 'shop', url: '[REDACTED]' }] } };
    expect(JSON.parse(json.stdout)).toMatchObject(shown);
    const people = await desk.heddle(['get', 'filesystem']);
    expect(people).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^filesystem {2}builtin\n.*"allowedPaths"/s),
    });
    expect(json.stdout + json.stderr).not.toContain(SECRET);
  });

  verifies('L1', 'shows a server as written and as active, without secrets', async () => {
    const desk = await deskWith({ 'project/heddle.json': PROJECT });
    const options = { env: { VARIABLE: SECRET } };
    const ran = await desk.heddle(['get', 'b', '--json'], options);
    const { written, inForce, ...rest } = JSON.parse(ran.stdout);
    expect(rest).toMatchObject({
      name: 'b',
      scope: 'project',
      file: desk.path('project/heddle.json'),
      line: 5,
      shadowed: [],
    });
    expect(written).toEqual({ command: 'y', env: { API_KEY: '[REDACTED]', REF: '${VARIABLE}' } });
    expect(inForce).toMatchObject({ type: 'stdio', enabled: true, env: { API_KEY: '[REDACTED]', REF: '[REDACTED]' } });
    const people = await desk.heddle(['get', 'b'], options);
    expect(people.stdout).toContain(`${desk.path('project/heddle.json')}:5:5`);
    expect(ran.stdout + people.stdout).not.toContain(SECRET);
  });

  verifies('L1', 'shows a `headersHelper` without the secrets in it', async () => {
    const mcpServers = {
      a: { url: 'http://a/', headersHelper: `printf '{"X-Api-Key": "${SECRET}"}'` },
      b: { url: 'http://b/', headersHelper: `fetch-headers --token ${SECRET} --zone eu` },
      c: { url: 'http://c/', headersHelper: ['fetch-headers', '${VARIABLE}', '--zone', 'eu'] },
    };
    const desk = await deskWith({ 'project/heddle.json': { mcpServers } });
    const options = { env: { VARIABLE: SECRET } };
    for (const name of ['a', 'b', 'c']) {
      const ran = [await desk.heddle(['get', name], options), await desk.heddle(['config', 'explain', name], options)];
      for (const { code, stdout } of ran) {
        expect([name, code, stdout]).toEqual([name, 0, expect.stringContaining('[REDACTED]')]);
        expect(stdout).not.toContain(SECRET);
      }
    }
    expect((await desk.heddle(['get', 'b'], options)).stdout).toContain('fetch-headers --token [REDACTED] --zone eu');
  });

  it('shows the problem of a broken server', async () => {
    const desk = await deskWith({ 'project/heddle.json': PROJECT });
    const ran = await desk.heddle(['get', 'b', '--json']);
    expect(JSON.parse(ran.stdout)).toMatchObject({ inForce: null, problem: { code: 'VARIABLE_UNSET' } });
  });
});

describe('config path', () => {
  it('lists the files in order, found, broken or absent', async () => {
    const desk = await deskWith({ 'project/heddle.json': PROJECT, 'home/heddle.json': '{' });
    const files: readonly { file: string; state: string }[] = JSON.parse(
      (await desk.heddle(['config', 'path', '--json'])).stdout,
    );
    const stateOf = (name: string) => files.find(({ file }) => file === desk.path(name))?.state;
    expect(stateOf('project/heddle.json')).toBe('found');
    expect(stateOf('project/.mcp.json')).toBe('absent');
    expect(stateOf('home/heddle.json')).toBe('broken');
    expect((await desk.heddle(['config', 'path'])).stdout).toContain(`found   ${desk.path('project/heddle.json')}`);
  });

  it('suggests a verb', async () => {
    const desk = await deskWith();
    const ran = await desk.heddle(['config', 'shema']);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean `heddle config schema`?') });
  });
});

describe('secret', () => {
  verifies('L3', 'reads a value from stdin, lists names and dates, and never prints a value', async () => {
    const desk = await deskWith();
    const runs = [
      await desk.spawned(['secret', 'set', 'a.TOKEN'], `${SECRET}\n`),
      await desk.spawned(['secret', 'set', 'b', '--json'], SECRET),
      await desk.heddle(['secret', 'list']),
      await desk.heddle(['secret', 'list', '--json']),
      await desk.heddle(['secret', 'rm', 'b']),
    ];
    for (const { code, stdout, stderr } of runs) {
      expect(code).toBe(0);
      expect(stdout + stderr).not.toContain(SECRET);
    }
    expect(runs[2]?.stdout).toMatch(/a\.TOKEN +\d{4}-\d\d-\d\dT/);
    expect(JSON.parse(runs[3]?.stdout ?? '')).toMatchObject([{ name: 'a.TOKEN', backend: 'file' }, { name: 'b' }]);
    expect(JSON.parse((await desk.heddle(['secret', 'list', '--json'])).stdout)).toHaveLength(1);
    const files = (await readdir(desk.path('home'))).filter((name) => !name.startsWith('heddle.sqlite'));
    expect(files.sort()).toEqual(['secret-key', 'secrets.json']);
  });

  it.each([
    [['set', 'a', SECRET], 2, 'not accepted as an argument'],
    [['set'], 2, 'No secret to set was given'],
    [['rm', 'a'], 2, 'There is no secret'],
    [['lst'], 2, 'Did you mean `heddle secret list`?'],
    [[], 2, 'Use `heddle secret set`'],
  ])('refuses %j, and keeps quiet about the value', async (words, code, said) => {
    const desk = await deskWith();
    const ran = await desk.heddle(['secret', ...words]);
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(said) });
    expect(ran.stderr).not.toContain(SECRET);
  });

  it('refuses an empty value', async () => {
    const desk = await deskWith();
    const ran = await desk.spawned(['secret', 'set', 'a'], '\n');
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('is empty') });
  });

  it('reports a wrong key with the exit code of a configuration error', async () => {
    const desk = await deskWith();
    await desk.spawned(['secret', 'set', 'a'], SECRET);
    const ran = await desk.spawned(['secret', 'set', 'a'], SECRET, { HEDDLE_SECRET_KEY: 'another' });
    expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('another key') });
    await writeFile(desk.path('home/secrets.json'), 'nonsense');
    expect(await desk.heddle(['secret', 'list'])).toMatchObject({ code: 3 });
  });

  verifies('C9', 'is the value of `${secret:name}`; without it only that server fails', async () => {
    const args = ['--plain', 'word ${secret:a.T}'];
    const servers = { a: { command: 'x', args, env: { T: '${secret:a.T}' } }, b: { command: 'y' } };
    const desk = await deskWith({ 'project/heddle.json': { mcpServers: servers } });
    const show = async (name: string, env: Record<string, string> = {}) => {
      const { stdout } = await desk.heddle(['get', name, '--json'], { env });
      expect(stdout).not.toContain(SECRET);
      return JSON.parse(stdout);
    };
    const fix = 'Set it with `heddle secret set a.T`.';
    expect(await show('a')).toMatchObject({ inForce: null, problem: { code: 'VARIABLE_UNSET', fix } });
    expect(await show('b')).toMatchObject({ inForce: { command: 'y' } });
    await desk.spawned(['secret', 'set', 'a.T'], SECRET);
    expect(await show('a')).toMatchObject({
      written: servers.a,
      inForce: { args: ['--plain', '[REDACTED]'], env: { T: '[REDACTED]' } },
    });
    const locked = await show('a', { HEDDLE_SECRET_KEY: 'another' });
    expect(locked).toMatchObject({
      problem: { code: 'CONFIG_INVALID', message: expect.stringContaining('another key') },
    });
  });
});
