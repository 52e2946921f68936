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
  expect(shown.screen()).toContain('+        "WIKI_TOKEN": "[REDACTED]"');
  expect(shown.screen()).not.toContain('hidden-value-1');
  expect(shown.screen()).toContain('Nothing was changed. To take over: --write');

  const written = await terminal(here, ['import', '--write', '--no-check'], WIDE);
  await written.type('WIKI_TOKEN looks like a secret.', 'y');
  expect(await written.ended()).toBe(0);
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
