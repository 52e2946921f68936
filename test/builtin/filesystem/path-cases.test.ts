import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { aTree, entriesBelow, layTraps, SECRET, serve } from '../../../src/builtin/filesystem/fixtures.ts';
import { verifies } from '../../requirements.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
  layTraps(tree);
  layMoreTraps(tree);
});
afterEach(() => tree.remove());

/** Adds links that lead outside: a chain of 30, one in a loop of parents, one into a hidden place. */
function layMoreTraps({ root, outside }: { root: string; outside: string }): void {
  for (let index = 0; index < 30; index++) symlinkSync(`long-${index + 1}`, join(root, `long-${index}`));
  symlinkSync(outside, join(root, 'long-30'));
  for (let index = 0; index < 50; index++) symlinkSync(`endless-${index + 1}`, join(root, `endless-${index}`));
  symlinkSync('/', join(root, 'to-root'));
  symlinkSync('/proc/self/fd', join(root, 'to-handles'));
  symlinkSync('/proc/self/root', join(root, 'to-proc-root'));
  symlinkSync('/dev/stdin', join(root, 'to-stdin'));
  symlinkSync(join(outside, 'nothing-there'), join(root, 'out-missing'));
  symlinkSync('../root-evil', join(root, 'sub/deep/evil'));
  symlinkSync('../../../root-evil', join(root, 'sub/deep/evil-2'));
  symlinkSync('.', join(root, 'self'));
  mkdirSync(join(root, 'd/'.repeat(300)), { recursive: true });
}

// `%` stands for the directory that contains the roots. All of these lead outside.
const CLIMBS = [
  '..',
  '../..',
  'sub/../..',
  './..',
  'sub/deep/../../..',
  'self/self/../../..',
  'missing/../..',
  './/..//',
];
const OUTSIDE: readonly string[] = [
  ...CLIMBS.map((climb) => climb),
  ...CLIMBS.map((climb) => `${climb}/outside/secret.txt`),
  ...CLIMBS.slice(0, 6).map((climb) => `%/root/${climb}/outside`),
  ...['%', '%/', '%/outside', '%/outside/', '%/outside/secret.txt', '%/outside/../outside/secret.txt'],
  ...['%/root-evil', '%/root-evil/secret.txt', '%/root2', '%/roo', '%/root_backup/x', '%/rootextra', '%/root.bak'],
  ...['%/root/../root-evil/secret.txt', '%/second/../outside/secret.txt', '%/ROOT/hello.txt', '%/Root', '%/root /x'],
  ...['/', '//', '///etc//passwd', '/etc/passwd', '/etc/../etc/passwd', '/root/.ssh/id_rsa', '/tmp', '/home', '/./etc'],
  ...['/proc/self/environ', '/proc/self/root/etc/passwd', '/proc/1/cwd', '/proc/self/fd/0', '/proc', '/proc/self/mem'],
  ...['/dev/zero', '/dev/null', '/dev/stdin', '/dev/tty', '/sys/kernel', '/sys', '/dev/fd/0', '/proc/thread-self/cwd'],
  ...['out-file', 'out-relative', 'out-dir', 'out-dir/secret.txt', 'out-dir/nothing', 'out-dir/a/b/c', 'out-missing'],
  ...['out-proc', 'out-proc/environ', 'chain-1', 'sub/up', 'sub/up/outside/secret.txt', 'sub/up/root-evil', 'long-0'],
  ...['long-0/secret.txt', 'self/out-dir/secret.txt', 'self/self/self/out-file', 'sub/../out-file', './out-file'],
  ...[
    'to-root',
    'to-root/etc/passwd',
    'to-handles',
    'to-handles/0',
    'to-proc-root/etc/passwd',
    'to-stdin',
    'to-root/tmp',
  ],
  ...['sub/deep/evil-2', 'sub/deep/evil-2/secret.txt', 'd/../../outside/secret.txt', 'self/../../outside/secret.txt'],
  ...[`${'d/'.repeat(300)}${'../'.repeat(301)}outside/secret.txt`, `${'self/'.repeat(20)}out-dir/secret.txt`],
];
// These stay inside or name nothing. A tool may do its work there.
const INSIDE: readonly string[] = [
  ...[
    'HELLO.TXT',
    'ｈello.txt',
    'hello.txt.',
    'hello.txt ',
    'hello.txt::$DATA',
    'he\u200bllo.txt',
    'cafe\u0301',
    'caf\u00e9',
  ],
  ...[
    '..\\outside\\secret.txt',
    'C:\\Windows\\win.ini',
    'C:/Windows/win.ini',
    '\\\\server\\share\\x',
    '//?/C:/x'.slice(2),
  ],
  ...[
    '%2e%2e/outside/secret.txt',
    '..%2foutside',
    '~',
    '~/x',
    '~root/x',
    '$HOME/x',
    '${HOME}',
    '`id`',
    '-rf',
    '...',
    '. .',
  ],
  ...[
    'file:///etc/passwd',
    '\u2025/outside',
    '\u002e\u2024/outside',
    '..\u2215outside',
    '．．/outside/secret.txt',
    'a\nb',
    '\t',
  ],
  ...[
    'hello.txt/../../root/hello.txt',
    'sub/deep/evil',
    'sub/deep/evil/secret.txt',
    'd/'.repeat(300),
    'CON',
    'nul',
    'aux.txt',
  ],
  ...[
    'endless-0',
    'loop-1',
    'dangling',
    'hard',
    'pipe',
    '',
    'a\0b',
    'x'.repeat(256),
    'y/'.repeat(3000),
    '\ud800',
    '\u202etxt',
  ],
];

const hashesOf = (folders: readonly string[]) =>
  folders.flatMap(entriesBelow).map((path) => {
    const isFile = path.endsWith('.txt');
    return [path, isFile ? createHash('sha256').update(readFileSync(path)).digest('hex') : ''];
  });

const onLinux = process.platform === 'linux';

describe.each(onLinux ? (['linux', 'darwin'] as const) : [process.platform])('with the rules for %s', (platform) => {
  for (const name of ['read', 'list', 'search', 'info', 'write'] as const) {
    verifies(
      'B1',
      `fs tool ${name}: ${OUTSIDE.length + INSIDE.length} paths, none of which leads outside`,
      async () => {
        expect(OUTSIDE.length + INSIDE.length).toBeGreaterThanOrEqual(120);
        const { root, second, base, outside } = tree;
        writeFileSync(join(outside, 'only-outside.txt'), SECRET);
        const tools = await serve({ roots: [root, second], platform });
        const run = {
          read: (path: string) => tools.read(path),
          list: (path: string) => tools.list({ path }),
          search: (path: string) => tools.search('**', { rootPath: path }),
          info: (path: string) => tools.info(path),
          write: (path: string) => tools.write(path, 'overwritten'),
        }[name];
        const before = hashesOf([outside, join(base, 'root-evil')]);
        const reasons = new Set<string>();
        for (const written of OUTSIDE) {
          const path = written.replace('%', base);
          const { isError, text } = await run(path);
          expect
            .soft([isError, text], path)
            .toEqual([true, expect.stringMatching(/outside the allowed roots|names a directory/)]);
          expect.soft(text, path).not.toMatch(/only-outside|secret content/);
          if (!text.includes('names a directory')) expect.soft(text, path).toContain(`${root}, ${second}`);
          reasons.add(text.replace(JSON.stringify(path), '').replace(/^"[^"]*…"/, ''));
        }
        // Two ways out, by the path or by a link, and a slash at the end. What exists outside makes no difference.
        expect([...reasons].length).toBeLessThanOrEqual(3);
        for (const path of INSIDE) {
          const { text } = await run(path);
          expect.soft(text, path).not.toMatch(/only-outside|secret content/);
          expect.soft(text, path).not.toMatch(/internal error/);
        }
        expect(hashesOf([outside, join(base, 'root-evil')])).toEqual(before);
      },
    );
  }
});
