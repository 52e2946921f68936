import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { type Project, project } from './heddle-command.ts';

const COMMANDS: readonly (readonly string[])[] = [
  [],
  ['call', 'filesystem.fs_list_directory', 'path=.'],
  ['list'],
  ['list', 'tools'],
  ['doctor'],
  ['key', 'list'],
  ['up', '--port', '0'],
  ['serve', '--stdio'],
  ['trust'],
  ['add', 'new', 'http://localhost:1/mcp'],
];

function fileAt(path: string): string {
  writeFileSync(path, '');
  return path;
}

function linkAt(path: string): string {
  symlinkSync('nothing', path);
  return path;
}

/** Homes that are no folder: how each is made, and the reason that the error names. */
const HOMES: readonly (readonly [string, (at: string) => string, string])[] = [
  ['a file', fileAt, 'it is not a folder'],
  ['a path below a file', (at) => join(fileAt(at), 'x'), 'a part of its path is a file'],
  ['a path below a device', () => '/dev/null/x', 'a part of its path is a file'],
  ['a link to nothing', linkAt, 'it is a symbolic link to nothing'],
  ['a path over 4096 characters', (at) => join(at, ...Array(20).fill('x'.repeat(250))), 'its path is too long'],
];

for (const [name, make, reason] of HOMES) {
  verifies('L4', `with ${name} as HEDDLE_HOME each command ends with one error and exit code 3`, async () => {
    const here = project();
    const env = { HEDDLE_HOME: make(join(here.folder, 'home')) };
    for (const command of COMMANDS) {
      const { code, stdout, stderr } = await here.heddle(command, { env });
      expect({ command, code, stdout, stderr }).toEqual({
        ...{ command, code: 3, stdout: '' },
        stderr: expect.stringMatching(
          new RegExp(`^error CONFIG_INVALID: Heddle's folder .* cannot be used: ${reason}.\n  fix: `),
        ),
      });
      expect(stderr.split('\n')).toHaveLength(3);
    }
    expect(await here.heddle(['version'], { env })).toMatchObject({ code: 0, stderr: '' });
  });
}

const UNWRITABLE = COMMANDS.filter(([name = '']) => ['up', 'call', 'doctor', 'key'].includes(name));

/** Runs commands in processes of their own: a loop in this process would block the tests. */
async function expectNoStore({ heddle }: Project, home: string, reason: string): Promise<void> {
  const outcomes = await Promise.all(
    UNWRITABLE.map((command) => heddle(command, { env: { HEDDLE_HOME: home }, spawned: true })),
  );
  for (const { code, stdout, stderr } of outcomes) {
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 70, stdout: '' },
      stderr: expect.stringMatching(
        new RegExp(`^error STORE_UNAVAILABLE: The store at .* cannot be used: ${reason}.\n  fix: `),
      ),
    });
    expect(stderr.split('\n')).toHaveLength(3);
  }
}

verifies('L4', 'below /proc, where no folder can be created, each command ends with one error', async () => {
  await expectNoStore(project(), '/proc/heddle-home', 'its folder does not exist and cannot be created');
});

verifies('L4', 'without the permission to write, each command ends with one error', async () => {
  const here = project();
  const home = join(here.folder, 'home');
  mkdirSync(home);
  chmodSync(home, 0o555);
  // The superuser may write everywhere, but not below a folder of the kernel.
  const isRoot = process.getuid?.() === 0;
  await expectNoStore(
    here,
    isRoot ? '/sys/heddle-home' : home,
    '(this user may not write there|its disk is read-only)',
  );
});
