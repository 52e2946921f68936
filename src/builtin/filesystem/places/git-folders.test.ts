import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { aTree, entriesBelow, serve } from '../fixtures.ts';
import { pathsNamedInConfig } from './git-folders.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

const at = (path: string) => join(tree.root, path);

function git(...args: readonly string[]): string {
  const identity = ['-c', 'user.name=ada', '-c', 'user.email=ada@example.com', '-c', 'init.defaultBranch=main'];
  const env = { PATH: process.env.PATH, HOME: tree.outside, GIT_CONFIG_NOSYSTEM: '1' };
  const { status, stdout, stderr } = spawnSync('git', [...identity, ...args], {
    cwd: tree.root,
    encoding: 'utf8',
    env,
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/** Writes each path, and expects that each is refused and that nothing has changed. */
async function expectRefused(paths: readonly string[]): Promise<void> {
  const before = entriesBelow(tree.root);
  const { write } = await serve({ roots: [tree.root] });
  for (const path of paths) expect.soft((await write(path, 'x')).text, path).toMatch(/never writes/);
  expect(entriesBelow(tree.root)).toEqual(before);
}

async function expectWritten(paths: readonly string[]): Promise<void> {
  const { write } = await serve({ roots: [tree.root] });
  for (const path of paths) expect.soft(await write(path, 'x'), path).toMatchObject({ isError: false });
}

verifies(
  'B1',
  'never writes into a git folder of any name: bare, separate, of a worktree or of a submodule',
  async () => {
    git('init', '-q', '--bare', 'bare');
    git('init', '-q', '--separate-git-dir', at('meta'), 'work');
    git('-C', 'work', 'commit', '-q', '--allow-empty', '-m', 'first');
    git('-C', 'work', 'worktree', 'add', '-q', at('tree'));
    mkdirSync(at('meta/modules'));
    git('init', '-q', '--separate-git-dir', at('meta/modules/part'), 'work/part');
    await expectRefused([
      ...['bare/config', 'bare/hooks/pre-commit', 'bare/info/attributes', 'bare/new', 'BARE/../bare/config'],
      ...[
        'meta/config',
        'meta/hooks/post-checkout',
        'meta/worktrees/tree/config.worktree',
        'meta/worktrees/tree/gitdir',
      ],
      ...['meta/modules/part/config', 'meta/objects/info/alternates', 'work/.git', 'tree/.git'],
    ]);
    expect((await (await serve({ roots: [tree.root] })).read('meta/config')).isError).toBe(false);
    await expectWritten(['work/file', 'tree/file', 'work/part/file']);
  },
);

verifies('B1', 'never completes a folder to one that git takes for a repository, in any order', async () => {
  const { write } = await serve({ roots: [tree.root] });
  const parts = ['config', 'HEAD', 'objects/x', 'refs/x', 'commondir'];
  for (const [index] of parts.entries()) {
    const order = [...parts.slice(index), ...parts.slice(0, index)];
    for (const part of order) await write(`built-${index}/${part}`, 'ref: refs/heads/main\n');
    await Promise.all(parts.map((part) => write(`raced-${index}/${part}`, 'ref: refs/heads/main\n')));
    for (const folder of [`built-${index}`, `raced-${index}`]) {
      expect(() => git('-C', folder, 'rev-parse', '--absolute-git-dir')).toThrow(/not a git repository/);
    }
  }
  mkdirSync(at('half/objects'), { recursive: true });
  writeFileSync(at('half/HEAD'), 'ref: refs/heads/main\n');
  symlinkSync('refs/heads/main', at('sub/HEAD'));
  mkdirSync(at('sub/refs'));
  await expectRefused([
    'half/refs/heads/x',
    'sub/objects/x',
    'x/HEAD',
    'x/head',
    'x/Head.',
    'x/commondir',
    'half/commondir',
  ]);
  await expectWritten(['half/x', 'head/x', 'head.ts', 'commondir.txt', 'objects/x', 'refs/x']);
});

verifies('B1', 'never writes a file that git configuration includes, nor a folder of hooks that it names', async () => {
  git('init', '-q', 'work');
  git('init', '-q', '--separate-git-dir', at('meta'), 'other');
  mkdirSync(at('cfg'));
  const include = '[include] path = "../../cfg/shared" ; comment\n[includeIf "gitdir:x"]\n\tPath = ../../cfg/more\n';
  const hooks = '[core]\n\thooksPath = scripts/hooks # here\n\tfsmonitor = false\n';
  writeFileSync(at('work/.git/config'), `${readFileSync(at('work/.git/config'), 'utf8')}${include}${hooks}`);
  writeFileSync(at('cfg/shared'), '[include]\npath = indirect\n');
  writeFileSync(at('meta/config'), '[include]\npath = ../cfg/of-other\n');
  writeFileSync(at('.gitconfig'), '[core]\nhooksPath = everywhere\n[include]\npath = cfg/of-user\n');
  await expectRefused([
    ...['cfg/shared', 'cfg/more', 'cfg/indirect', 'cfg/of-other', 'cfg/of-user', 'CFG/../cfg/shared'],
    ...['work/scripts/hooks/pre-commit', 'work/scripts/hooks/new/x', 'work/everywhere/pre-commit'],
  ]);
  await expectWritten(['cfg/free', 'work/scripts/x', 'scripts/hooks/x', 'other/scripts/hooks/x']);
});

verifies(
  'B1',
  'reads the values of git configuration as git does: quotes, escapes, comments and long lines',
  async () => {
    git('init', '-q', 'work');
    const values = ['h"k"', '"a b"/c', '"q # ;"', 'x\\\ny', '"e\\"f"', 'g\\\\h', '  "k" ; "z'];
    const read = ['hk', 'a b/c', 'q # ;', 'xy', 'e"f', 'g\\h', 'k'];
    for (const [index, value] of values.entries()) {
      const config = `[a "]"]\n# not continued \\\n[core "x]"]\n[core] # \\\n\thooksPath = ${value}\n`;
      writeFileSync(at('work/.git/config'), config);
      expect(git('-C', 'work', 'config', 'core.hooksPath')).toBe(`${read[index]}\n`);
      expect(await pathsNamedInConfig([at('work/.git/config')], ['/w'])).toEqual([`/w/${read[index]}`]);
    }
  },
);

verifies('B1', 'never writes a file that a command of git configuration names', async () => {
  git('init', '-q', 'work');
  const commands = [
    ...[
      '[core]',
      'fsmonitor = tools/fsm.sh',
      'sshCommand = "\'tools/my ssh.sh\' -i ~/key"',
      'pager = less',
      'editor = ed.sh',
    ],
    ...[
      '[filter "x"]',
      'clean = node clean.mjs %f',
      'smudge = sh "./tools/smudge" ; note',
      '[diff]',
      'external = tools/diff',
    ],
    ...[
      '[diff "y"]',
      'textconv = "cd . && $(git rev-parse --show-toplevel)/tools/conv"',
      '[merge "z"]',
      'driver = a/b %O %A',
    ],
    ...[
      '[credential "https://x.example"]',
      'helper = "!f() { tools/key; }; f"',
      '[gpg]',
      'program=./sign',
      '[alias]',
      'x = !y/z',
    ],
  ];
  writeFileSync(at('work/.git/config'), commands.join('\n'));
  await expectRefused([
    ...['fsm.sh', 'smudge', 'diff', 'conv', 'key', 'my ssh.sh'].map((name) => `work/tools/${name}`),
    ...['work/clean.mjs', 'work/a/b', 'work/sign', 'work/ed.sh'],
  ]);
  await expectWritten(['work/less/x', 'work/node/x', 'work/tools/x', 'tools/fsm.sh', 'work/y/z', 'work/f/x']);
});

verifies('B1', 'takes the home folder for ~ in paths and commands of git configuration', async () => {
  writeFileSync(at('c'), '[include]\npath = ~/i\n[core]\nhooksPath = ~/h\nfsmonitor = sh ~/f $HOME/g\n');
  const paths = ['/home/ada/i', '/home/ada/h', '/home/ada/f', '/home/ada/g'];
  expect(await pathsNamedInConfig([at('c')], ['/w'], '/home/ada')).toEqual(paths);
});

verifies(
  'B1',
  'follows a .git file in another folder of the roots to a git folder that does not exist yet',
  async () => {
    mkdirSync(at('work'));
    writeFileSync(at('work/.git'), 'gitdir: ../later\n');
    await expectRefused(['later/config', 'later/hooks/x']);
  },
);
