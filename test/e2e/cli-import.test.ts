import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { type Project, project } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const WIDE = { rows: 50, cols: 400 };
const CURSOR = {
  mcpServers: {
    wiki: {
      command: 'npx',
      args: ['-y', 'wiki-server'],
      env: { LOG_LEVEL: 'debug', WIKI_URL: 'https://wiki.example.com/api', WIKI_TOKEN: 'hidden-value-1' },
    },
    filesystem: { command: 'npx', args: ['-y', 'files-server'] },
  },
};

/** Writes a file into the home folder of the user. */
function atHome({ env }: Project, path: string, value: object): void {
  const file = join(env.HOME ?? '', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(value));
}

verifies('C12', 'shows values that are no secrets in the diff of an import, on a terminal', async () => {
  const here = project({ '.mcp.json': { mcpServers: { live: { command: 'live-server' } } } });
  atHome(here, '.cursor/mcp.json', CURSOR);
  const shown = await terminal(here, ['import', 'cursor'], WIDE);
  expect(await shown.ended()).toBe(0);
  expect(shown.screen()).toContain('+        "LOG_LEVEL": "debug",');
  expect(shown.screen()).toContain('+        "WIKI_URL": "https://wiki.example.com/api",');
  expect(shown.screen()).toContain('+        "WIKI_TOKEN": "${secret:wiki.WIKI_TOKEN}"');
  expect(shown.screen()).not.toContain('hidden-value-1');
  expect(shown.screen()).toContain('Nothing was changed. To take over: --write');

  const written = await terminal(here, ['import', '--write', '--no-check'], WIDE);
  expect(await written.ended()).toBe(0);
  expect(written.screen()).toContain('The secret wiki.WIKI_TOKEN is in the secret store.');
  expect(written.screen()).toContain(`wiki, filesystem → ${join(here.home, 'heddle.json')} (user)`);
  expect(written.screen()).toContain(`Heddle reads ${join(here.folder, '.mcp.json')} itself`);
});

verifies('L6', 'advertises the built-in file tools only while no other server has their name', async () => {
  const example = 'heddle call filesystem.fs_';
  const welcomeOf = async (one: Project) => {
    const up = await terminal(one, ['up', '--port', '0'], WIDE);
    await up.type('Ctrl-C stops it.', '\x03');
    await up.ended();
    return up.screen();
  };
  expect(await welcomeOf(project({ 'README.md': '# Hello' }))).toContain(`${example}read_file path=README.md`);
  expect(await welcomeOf(project())).toContain(`${example}list_directory path=.`);
  const replaced = project({ 'heddle.json': CURSOR });
  const welcome = await welcomeOf(replaced);
  expect(welcome).toContain('heddle list tools');
  expect(welcome).not.toContain(example);
  expect((await replaced.heddle(['--help'])).stdout).not.toContain('filesystem.fs_');
});

verifies(
  'C12',
  'lists a file of a host once in the home folder, where the user’s file is that of the project',
  async () => {
    const here = project({ '.cursor/mcp.json': CURSOR });
    const shown = await here.heddle(['import', '--json'], { env: { HOME: here.folder } });
    const { files } = JSON.parse(shown.stdout);
    expect(files.map(({ host, scope }: { host: string; scope: string }) => [host, scope])).toEqual([
      ['cursor', 'user'],
    ]);
  },
);

verifies('B1', 'list servers and doctor say why there are no file tools in the home folder', async () => {
  const here = project();
  const env = { HOME: here.folder };
  const reason = `There are no file tools here: the folder ${here.folder} is or contains your home folder.`;
  const fix = 'Run Heddle in a project folder, or name folders in `builtins.filesystem.allowedPaths`.';
  const { stdout } = await here.heddle(['list', 'servers'], { env });
  expect(stdout).toMatch(/^filesystem +disabled +in-process +builtin +\?$/m);
  expect(stdout).toContain(`filesystem: ${reason}\n  fix: ${fix}`);
  const [status] = JSON.parse((await here.heddle(['list', 'servers', '--json'], { env })).stdout);
  expect(status).toMatchObject({ name: 'filesystem', state: 'disabled', reason, fix });
  const doctor = await here.heddle(['doctor'], { env });
  expect([doctor.code, doctor.stdout]).toEqual([0, expect.stringContaining(`server filesystem: disabled: ${reason}`)]);
  const call = await here.heddle(['call', 'filesystem.fs_read_file', 'path=x'], { env });
  expect([call.code, call.stderr]).toEqual([expect.any(Number), expect.stringContaining(reason)]);
  expect((await here.heddle(['list', 'tools'], { env })).stdout).toBe('');
});
