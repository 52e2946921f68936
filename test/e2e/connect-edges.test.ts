import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { hostMachine, writtenEntry } from './connected-host.ts';
import { SERVERS } from './heddle-command.ts';

const DEMO = { command: process.execPath, args: [join(SERVERS, 'pid-server.mjs')] };
const CURSOR = '.cursor/mcp.json';
const CLAUDE = '.claude.json';
const cursorText = `{\n  "mcpServers": {\n    "demo": ${JSON.stringify(DEMO)}\n  }\n}\n`;

verifies('C12', 'connect creates a missing file for its owner alone, and undo removes it with its folder', async () => {
  const { at, path, isThere } = hostMachine({});
  const connected = await at.heddle(['connect', 'zed', '--yes']);
  expect(connected.stdout).toContain('As it was: there was no file.');
  expect(statSync(path('.config/zed/settings.json')).mode & 0o777).toBe(0o600);
  const undone = await at.heddle(['connect', 'zed', '--undo']);
  expect(undone.stdout).toBe(
    `${path('.config/zed/settings.json')} was new, and is gone again.\nThe key connect-zed is revoked.\n`,
  );
  expect(isThere('.config')).toBe(false);
});

verifies('C12', 'connect leaves a server enabled whose variable is not set for Heddle', async () => {
  const file = '.config/Code/User/mcp.json';
  const inputs = [{ type: 'promptString', id: 'demo-key', description: 'Key', password: true }];
  const servers = { demo: DEMO, asking: { ...DEMO, env: { DEMO_KEY: '${input:demo-key}' } } };
  const { at, bytes } = hostMachine({ [file]: JSON.stringify({ inputs, servers }) });
  const { code, stdout, stderr } = await at.heddle(['connect', 'vscode', '--yes']);
  expect(code).toBe(0);
  expect(stderr).toContain('asking stays enabled in VS Code: The variable `DEMO_KEY` is not set');
  expect(stdout).toContain('Taken out of VS Code: demo\n');
  expect(Object.keys(JSON.parse(bytes(file)).servers)).toEqual(['asking', 'heddle']);
});

verifies('C12', 'connect keeps a symbolic link and the mode of the file behind it, and so does undo', async () => {
  const { at, path, bytes } = hostMachine({ 'dotfiles/mcp.json': cursorText, '.cursor/keep': '' });
  symlinkSync('../dotfiles/mcp.json', path(CURSOR));
  chmodSync(path('dotfiles/mcp.json'), 0o640);
  await at.heddle(['connect', 'cursor', '--yes']);
  expect(lstatSync(path(CURSOR)).isSymbolicLink()).toBe(true);
  expect(bytes('dotfiles/mcp.json')).toContain('"heddle"');
  await at.heddle(['connect', 'cursor', '--undo']);
  expect(lstatSync(path(CURSOR)).isSymbolicLink()).toBe(true);
  expect(bytes('dotfiles/mcp.json')).toBe(cursorText);
  expect(statSync(path('dotfiles/mcp.json')).mode & 0o777).toBe(0o640);
});

verifies('C12', 'connect does not change a read-only file or an invalid one, and names the reason', async () => {
  const { at, path, bytes, write } = hostMachine({
    [CURSOR]: cursorText,
    '.codex/config.toml': '[mcp_servers\nx = 1\n',
  });
  chmodSync(path(CURSOR), 0o444);
  const refused = await at.heddle(['connect', 'cursor', '--yes']);
  expect(refused).toMatchObject({ code: 3, stdout: '' });
  expect(refused.stderr).toContain(`${path(CURSOR)} is read-only, so it was not changed.`);
  const toml = await at.heddle(['connect', 'codex', '--yes']);
  expect(toml.code).toBe(3);
  expect(toml.stderr).toMatch(/config\.toml:1:\d+: .*is not valid TOML/);
  write('.gemini/settings.json', '{\n  "mcpServers": {,}\n}');
  const json = await at.heddle(['connect', 'gemini', '--yes']);
  expect(json.code).toBe(3);
  expect(json.stderr).toContain('settings.json:2:18: ');
  expect(bytes(CURSOR)).toBe(cursorText);
  expect(existsSync(join(at.home, 'heddle.json'))).toBe(false);
  expect(existsSync(join(at.home, 'connect'))).toBe(false);
});

verifies(
  'C12',
  'without a terminal and --yes, connect shows the difference without secrets and writes nothing',
  async () => {
    const secret = 'ghp_abcdefgh12345';
    const text = JSON.stringify({ mcpServers: { demo: { ...DEMO, env: { API_TOKEN: secret } } } }, null, 2);
    const { at, path, bytes } = hostMachine({ [CURSOR]: text });
    const shown = await at.heddle(['connect', 'cursor']);
    expect(shown.code).toBe(0);
    const moves = 'Move into the secret store: demo.API_TOKEN';
    expect(shown.stdout).toContain(`Import into ${join(at.home, 'heddle.json')}: demo\n${moves}\n--- ${path(CURSOR)}`);
    expect(shown.stdout).toMatch(/^\+ {4}"heddle": \{$/m);
    expect(shown.stdout).toContain('Nothing was changed. To do it: heddle connect cursor --yes');
    const { diff, ...report } = JSON.parse((await at.heddle(['connect', 'cursor', '--json'])).stdout);
    expect(report).toMatchObject({ host: 'cursor', changed: false, imported: ['demo'], disabled: ['demo'] });
    expect(shown.stdout + diff).not.toContain(secret);
    expect(bytes(CURSOR)).toBe(text);
    expect(existsSync(join(at.home, 'heddle.json'))).toBe(false);
  },
);

verifies(
  'C12',
  'undo of a file that was changed since takes back its own changes, and keeps the later ones',
  async () => {
    const state = {
      numStartups: 1,
      mcpServers: { demo: DEMO, own: { command: 'a' } },
      projects: { '/x': { history: [1] } },
    };
    const { at, path, write } = hostMachine({ [CLAUDE]: JSON.stringify(state, null, 2) });
    await at.heddle(['connect', 'claude-code', '--yes']);
    const now = JSON.parse(readFileSync(path(CLAUDE), 'utf8'));
    expect(Object.keys(now.mcpServers)).toEqual(['heddle']);
    now.numStartups = 2;
    now.mcpServers.later = { command: 'b' };
    now.mcpServers.own = { command: 'changed' };
    write(CLAUDE, JSON.stringify(now, null, 2));
    const undone = await at.heddle(['connect', 'claude-code', '--undo']);
    expect(undone.stdout).toContain('was changed since; only the changes of `heddle connect` were taken back.');
    expect(undone.stderr).toContain('`mcpServers.own` was changed since, and stays as it is now.');
    expect(JSON.parse(readFileSync(path(CLAUDE), 'utf8'))).toEqual({
      ...state,
      numStartups: 2,
      mcpServers: { later: { command: 'b' }, own: { command: 'changed' }, demo: DEMO },
    });
    const [, backup = ''] = /^As it was before: (.+)$/m.exec(undone.stdout) ?? [];
    expect(JSON.parse(readFileSync(backup, 'utf8'))).toEqual(state);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
  },
);

verifies('C12', 'undo after changes to a TOML file and to a list of Gemini CLI keeps these changes', async () => {
  const toml = `[mcp_servers.demo]\ncommand = "${DEMO.command}"\nargs = ["${DEMO.args[0]}"]\n`;
  const settings = { mcp: { excluded: ['x'] }, mcpServers: { demo: DEMO } };
  const { at, write, bytes } = hostMachine({
    '.codex/config.toml': toml,
    '.gemini/settings.json': JSON.stringify(settings),
  });
  await at.heddle(['connect', 'codex', '--yes']);
  write('.codex/config.toml', `# later\n${bytes('.codex/config.toml')}\n[tui]\n`);
  await at.heddle(['connect', 'codex', '--undo']);
  expect(bytes('.codex/config.toml').replace(/\n+/g, '\n')).toBe(`# later\n${toml}[tui]\n`);
  await at.heddle(['connect', 'gemini', '--yes']);
  write('.gemini/settings.json', bytes('.gemini/settings.json').replace('"x", "demo"', '"x", "demo", "y"'));
  await at.heddle(['connect', 'gemini', '--undo']);
  expect(JSON.parse(bytes('.gemini/settings.json'))).toEqual({
    mcp: { excluded: ['x', 'y'] },
    mcpServers: { demo: DEMO },
  });
});

verifies('C12', 'undo of a host that is not connected is an error that says so', async () => {
  const { at, path } = hostMachine({ [CURSOR]: cursorText });
  const { code, stderr } = await at.heddle(['connect', 'cursor', '--undo']);
  expect(code).toBe(2);
  expect(stderr).toContain(`Cursor is not connected: there is no record for ${path(CURSOR)}.`);
  expect((await at.heddle(['connect', 'registry'])).stderr).toContain('The registry is no application');
  expect((await at.heddle(['connect', 'curser'])).stderr).toContain('Did you mean cursor?');
  expect((await at.heddle(['connect', '--undo'])).stderr).toContain('--undo needs a host.');
});

verifies('C12', 'after kill -9 before the file is written, undo and connect work', async () => {
  const { at, path, bytes, write } = hostMachine({ [CURSOR]: cursorText });
  // The lock of `editFile`: while it exists, connect waits with its record written and the host's file as it was.
  const lock = path('.cursor/.mcp.json.heddle-new');
  write('.cursor/.mcp.json.heddle-new', '');
  utimesSync(lock, new Date('2999-01-01'), new Date('2999-01-01'));
  const records = () => readdirSync(join(at.home, 'connect')).filter((name) => name.endsWith('.json'));
  await at.heddle(['connect', 'cursor', '--yes'], {
    async meanwhile(child) {
      await until('the record has the written text', () => {
        const [name] = existsSync(join(at.home, 'connect')) ? records() : [];
        return (
          name !== undefined && JSON.parse(readFileSync(join(at.home, 'connect', name), 'utf8')).written.length > 0
        );
      });
      child.kill('SIGKILL');
    },
  });
  rmSync(lock);
  expect(bytes(CURSOR)).toBe(cursorText);
  expect((await at.heddle(['connect', 'cursor', '--undo'])).stdout).toContain('is as it was, byte for byte.');
  expect(records()).toEqual([]);
  expect((await at.heddle(['connect', 'cursor', '--yes'])).code).toBe(0);
  expect(writtenEntry('cursor', bytes(CURSOR))).toBeDefined();
  await at.heddle(['connect', 'cursor', '--undo']);
  expect(bytes(CURSOR)).toBe(cursorText);
});

verifies('C12', 'a server with a secret that two hosts have is imported once and disabled in both', async () => {
  const servers = { mcpServers: { demo: { ...DEMO, env: { API_TOKEN: 'ghp_abcdefgh12345' } } } };
  const other = { mcpServers: { demo: { ...DEMO, env: { API_TOKEN: 'ghp_other678901' } } } };
  const text = JSON.stringify(servers, null, 2);
  const { at, bytes } = hostMachine({
    [CURSOR]: text,
    '.gemini/settings.json': text,
    '.codeium/windsurf/mcp_config.json': JSON.stringify(other),
  });
  await at.heddle(['connect', 'cursor', '--yes']);
  const second = JSON.parse((await at.heddle(['connect', 'gemini', '--yes', '--json'])).stdout);
  expect(second).toMatchObject({ changed: true, imported: [], disabled: ['demo'], different: [] });
  const third = await at.heddle(['connect', 'windsurf', '--yes']);
  expect(third.stderr).toContain('demo differs from Heddle’s server of that name, so it stays enabled in Windsurf.');
  expect(bytes('.codeium/windsurf/mcp_config.json')).not.toContain('"disabled"');
  expect(readFileSync(join(at.home, 'heddle.json'), 'utf8')).toContain('${secret:demo.API_TOKEN}');
});

verifies('C12', 'connect again with other options replaces the entry, and undo restores the first file', async () => {
  const { at, bytes } = hostMachine({ [CURSOR]: cursorText });
  await at.heddle(['connect', 'cursor', '--yes']);
  await at.heddle(['connect', 'cursor', '--url', '--yes']);
  expect(writtenEntry('cursor', bytes(CURSOR))).toMatchObject({ url: 'http://127.0.0.1:7433/mcp' });
  expect(JSON.parse((await at.heddle(['key', 'list', '--json'])).stdout)).toMatchObject([
    { name: 'connect-cursor', roles: ['user'] },
  ]);
  await at.heddle(['connect', 'cursor', '--keep-servers', '--yes']);
  expect(Object.keys(JSON.parse(bytes(CURSOR)).mcpServers)).toEqual(['demo', 'heddle']);
  expect(JSON.parse((await at.heddle(['key', 'list', '--json'])).stdout)).toHaveLength(1);
  expect((await at.heddle(['connect', 'cursor', '--undo'])).stdout).toContain('byte for byte');
  expect(bytes(CURSOR)).toBe(cursorText);
  expect(readdirSync(join(at.home, 'connect'))).toEqual([]);
});

verifies('C12', 'Heddle does not import its own entry, nor read it from .mcp.json', async () => {
  const own = { mcpServers: { heddle: { command: 'npx', args: ['heddle', 'serve', '--stdio'] }, demo: DEMO } };
  const renamed = { mcpServers: { gateway: { command: '/opt/bin/heddle', args: ['serve', '--stdio'] } } };
  const { at } = hostMachine(
    { [CURSOR]: JSON.stringify(renamed), [CLAUDE]: JSON.stringify(own) },
    { '.mcp.json': own },
  );
  const servers = await at.heddle(['list', 'servers', '--json']);
  const names = JSON.parse(servers.stdout).map(({ name }: { name: string }) => name);
  expect(names).toContain('demo');
  expect(names).not.toContain('heddle');
  expect(servers.stderr).toBe('');
  const { files } = JSON.parse((await at.heddle(['import', '--json'])).stdout);
  const found = files.flatMap((one: { servers: { name: string }[]; notes: string[] }) => [
    one.servers.map(({ name }) => name),
    one.notes,
  ]);
  expect(found.flat()).toEqual(expect.arrayContaining(['demo']));
  expect(found.flat().join()).not.toMatch(/heddle|gateway/);
});

verifies('L1', 'connect without a host shows the hosts that are here, their servers and their state', async () => {
  const toml = '[mcp_servers.docs]\nurl = "https://mcp.example.com/mcp"\n';
  const { at, path } = hostMachine({ [CURSOR]: cursorText, '.codex/config.toml': toml, '.gemini/settings.json': '{,' });
  await at.heddle(['connect', 'cursor', '--yes']);
  const { stdout, code } = await at.heddle(['connect']);
  const rows = stdout.split('\n').map((row) => row.trim().split(/ {2,}/));
  expect(rows).toContainEqual(['cursor', 'connected', '0', '1', path(CURSOR)]);
  expect(rows).toContainEqual(['codex', 'not connected', '1', '2', path('.codex/config.toml')]);
  expect(rows).toContainEqual(['gemini', 'not readable', '?', '1', path('.gemini/settings.json')]);
  expect(stdout).toContain('With all of these hosts connected, each has 2 servers.');
  expect(stdout).toContain('Not here: claude-code, claude-desktop, vscode, windsurf, zed, opencode');
  expect(code).toBe(0);
  const { hosts, absent } = JSON.parse((await at.heddle(['connect', '--json'])).stdout);
  expect(hosts).toContainEqual({
    host: 'codex',
    file: path('.codex/config.toml'),
    servers: ['docs'],
    throughHeddle: ['demo', 'docs'],
    connected: false,
  });
  expect(absent).toContain('zed');
});

verifies(
  'C12',
  'a server that Heddle reads from the file of Claude Code is imported before Cursor loses it',
  async () => {
    const { at } = hostMachine({ [CURSOR]: cursorText, [CLAUDE]: cursorText });
    const { imported, disabled } = JSON.parse((await at.heddle(['connect', 'cursor', '--yes', '--json'])).stdout);
    expect({ imported, disabled }).toEqual({ imported: ['demo'], disabled: ['demo'] });
  },
);

verifies(
  'C12',
  'connect gives two files of one host keys of their own, so that undoing one keeps the other',
  async () => {
    const { at, path, bytes } = hostMachine({ 'one/config.toml': '', 'two/config.toml': '' });
    const run = (folder: string, ...args: string[]) =>
      at.heddle(['connect', 'codex', ...args], { env: { CODEX_HOME: path(folder) } });
    const keys = async () => (await at.heddle(['key', 'list'])).stdout.match(/connect-\S+/g);
    await run('one', '--url', '--yes');
    await run('two', '--url', '--yes');
    expect(await keys()).toEqual(['connect-codex', expect.stringMatching(/^connect-codex-[0-9a-f]{8}$/)]);
    await run('one', '--undo');
    expect(await keys()).toEqual([expect.stringMatching(/^connect-codex-[0-9a-f]{8}$/)]);
    const written = bytes('two/config.toml');
    expect((await run('two', '--url', '--yes')).stdout).toContain('is connected already');
    expect(bytes('two/config.toml')).toBe(written);
  },
);
