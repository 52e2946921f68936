import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { VERSION } from '../core/version.ts';
import { deskWith } from './commands/fixtures.ts';

it('prints its version for --version, -v and -V', async () => {
  const { heddle } = await deskWith();
  for (const way of ['--version', '-v', '-V']) {
    expect(await heddle([way])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  }
});

it('names an unknown option as it was typed', async () => {
  const { heddle } = await deskWith();
  expect((await heddle(['list', 'tools', '-j'])).stderr).toContain('There is no option -j.');
  expect((await heddle(['list', 'tools', '--jsn'])).stderr).toMatch(/There is no option --jsn\..*Did you mean --json/s);
});

verifies('L1', 'shows the commands in groups, in 60 columns', async () => {
  const { heddle } = await deskWith();
  // The command that installs it has the path of the clone.
  const [overview = ''] = (await heddle(['--help'])).stdout.split('\nTo type heddle');
  const groups = [...overview.matchAll(/^([A-Z][a-z ]+)\n((?: {2}\w+ .*\n)+)/gm)].map(([, title, lines = '']) => [
    title,
    [...lines.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name),
  ]);
  expect(Object.fromEntries(groups)).toEqual({
    Start: ['up', 'connect', 'import', 'add', 'doctor'],
    Use: ['list', 'search', 'describe', 'call', 'read', 'prompt'],
    Workflows: ['run', 'runs', 'lint'],
    Govern: ['permissions', 'approvals', 'policy', 'key', 'trust'],
    Observe: ['audit', 'stats', 'config'],
    'Servers and secrets': ['get', 'enable', 'disable', 'remove', 'export', 'auth', 'secret'],
    Other: ['serve', 'builtin', 'completion', 'version'],
  });
  expect(overview.split('\n').filter((line) => line.length > 60)).toEqual([]);
});

it('recommends no `npx heddle` in the help: that package is of another author', async () => {
  const { heddle } = await deskWith();
  for (const command of ['serve', 'builtin']) {
    const { stdout } = await heddle([command, '--help']);
    expect(stdout).toContain(`"command": "heddle", "args": ["${command}"`);
    expect(stdout).not.toContain('npx');
  }
});

it('says that the value of a secret is never shown', async () => {
  const { heddle } = await deskWith();
  const { code, stderr } = await heddle(['secret', 'get', 'github.TOKEN']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('The value of a secret is never shown.')]);
  expect(stderr).toContain('fix: Run `heddle secret list` to see the names.');
});
