import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { type Project, project } from './heddle-command.ts';

const OWN = { mcpServers: { own: { command: 'true' } } };

/** Gives a project a folder of managed files. */
function managed(here: Project, files: Readonly<Record<string, object>>) {
  const folder = join(here.folder, '..', 'managed');
  mkdirSync(folder, { recursive: true });
  for (const [name, value] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(value));
  const run = (...args: readonly string[]) => here.heddle(args, { env: { HEDDLE_MANAGED_DIR: folder } });
  return { run, file: join(folder, 'managed-mcp.json') };
}

verifies('C6', 'add, enable and import refuse entries without effect beside an enterprise file', async () => {
  const here = project({ 'heddle.json': OWN, '.cursor/mcp.json': { mcpServers: { other: { command: 'true' } } } });
  const { run, file } = managed(here, { 'managed-mcp.json': { mcpServers: { corp: { command: 'true' } } } });
  const before = readFileSync(join(here.folder, 'heddle.json'), 'utf8');
  for (const args of [
    ['add', 'foo', '--', 'true'],
    ['enable', 'own'],
    ['import', 'cursor', '--write', '--no-check'],
  ]) {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stderr]).toEqual([5, expect.stringMatching(/^error SERVER_BLOCKED: \w+ was not (added|enabled), /)]);
    expect(stderr).toContain(`it would have no effect: ${file} is the only source of servers on this machine.`);
    expect(stderr).toContain('fix: Ask the administrator of this machine.');
    expect(stdout).not.toMatch(/Added|→/);
  }
  const two = await run('add', JSON.stringify({ mcpServers: { one: { command: 'a' }, two: { command: 'b' } } }));
  expect(two.stderr).toContain('one, two were not added, because they would have no effect: ');
  for (const args of [['import', 'cursor'], ['import']]) {
    const { stdout } = await run(...args);
    expect(stdout).toContain(`They cannot be taken over: ${file} is the only source of servers on this machine.`);
    expect(stdout).not.toContain('--write');
  }
  expect(readFileSync(join(here.folder, 'heddle.json'), 'utf8')).toBe(before);
  expect((await run('list', 'servers', '--json')).stdout).not.toContain('"own"');
});

verifies('C6', 'disable and remove say that an entry beside an enterprise file has no effect', async () => {
  const here = project({ 'heddle.json': OWN });
  const { run, file } = managed(here, { 'managed-mcp.json': { mcpServers: { corp: { command: 'true' } } } });
  const hint = `own had no effect: ${file} is the only source of servers on this machine.\n`;
  expect(await run('disable', 'own')).toMatchObject({ code: 0, stderr: hint });
  expect(await run('remove', 'own')).toMatchObject({ code: 0, stderr: hint });
  expect((await run('permissions', 'allow', 'mcp__corp')).code).toBe(3);
  expect(await run('disable', 'corp')).toMatchObject({ code: 2, stderr: expect.stringContaining(file) });
});

verifies('C6', 'connect takes no server out of a host that would have no effect in Heddle', async () => {
  const here = project();
  const { run, file } = managed(here, { 'managed-mcp.json': { mcpServers: { corp: { command: 'true' } } } });
  const cursor = join(here.env.HOME ?? '', '.cursor', 'mcp.json');
  mkdirSync(dirname(cursor), { recursive: true });
  writeFileSync(cursor, JSON.stringify(OWN));
  const { code, stderr } = await run('connect', 'cursor', '--yes');
  expect([code, stderr]).toEqual([0, expect.stringContaining(`Not imported, so they stay in Cursor: own. ${file} is`)]);
  expect(JSON.parse(readFileSync(cursor, 'utf8')).mcpServers).toHaveProperty('own');
  expect(existsSync(join(here.home, 'heddle.json'))).toBe(false);
});

verifies('C6', 'add says that the organisation’s lists block the new server', async () => {
  const here = project();
  const { run } = managed(here, { 'managed-settings.json': { deniedServers: [{ serverName: 'foo' }] } });
  const { code, stderr } = await run('add', 'foo', '--no-check', '--', 'true');
  expect([code, stderr]).toEqual([0, expect.stringMatching(/foo.*(blocked|denied|not allowed).*administrator/s)]);
});
