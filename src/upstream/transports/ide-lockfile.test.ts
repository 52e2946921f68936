import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { findIde, type IdeSearch } from './ide-lockfile.ts';

let lockFolder: string;
let workspace: string;
beforeEach(() => {
  lockFolder = mkdtempSync(join(tmpdir(), 'heddle-ide-'));
  workspace = join(realpathSync(lockFolder), 'project');
  mkdirSync(workspace);
});
afterEach(() => rmSync(lockFolder, { recursive: true }));

const contentOf = (more: object = {}) =>
  JSON.stringify({
    pid: process.pid,
    workspaceFolders: [workspace],
    ideName: 'Editor',
    transport: 'ws',
    authToken: 't0ken',
    ...more,
  });

let clock = 1_700_000_000;
function announce(name: string, content: string): void {
  writeFileSync(join(lockFolder, name), content);
  clock += 1;
  utimesSync(join(lockFolder, name), clock, clock);
}

const find = (more: Partial<IdeSearch> = {}) => findIde({ lockFolder, transport: 'ws', workspace, ...more });

verifies('T1', 'finds the IDE that has the workspace open, and its token', async () => {
  announce('4001.lock', contentOf({ workspaceFolders: ['/somewhere/else'] }));
  announce('4002.lock', contentOf());
  announce('4003.lock', contentOf({ workspaceFolders: [`${workspace}-other`] }));
  await expect(find()).resolves.toMatchObject({ port: 4002, name: 'Editor', token: 't0ken' });
  const inside = join(workspace, 'packages/one');
  mkdirSync(inside, { recursive: true });
  await expect(find({ workspace: inside })).resolves.toMatchObject({ port: 4002 });
  await expect(find({ workspace: lockFolder })).resolves.toBeUndefined();
});

verifies('T1', 'takes the newest of several, or the one on the port that is asked for', async () => {
  for (const port of [4003, 4001, 4002]) announce(`${port}.lock`, contentOf());
  await expect(find()).resolves.toMatchObject({ port: 4002 });
  await expect(find({ port: 4001 })).resolves.toMatchObject({ port: 4001 });
});

verifies('T1', 'passes over an IDE that is no longer running', async () => {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  announce('4001.lock', contentOf());
  announce('4002.lock', contentOf({ pid }));
  await expect(find()).resolves.toMatchObject({ port: 4001 });
});

it('tells the transports apart; who names none speaks SSE', async () => {
  announce('4001.lock', contentOf());
  announce('4002.lock', contentOf({ transport: undefined }));
  await expect(find()).resolves.toMatchObject({ port: 4001 });
  await expect(find({ transport: 'sse' })).resolves.toMatchObject({ port: 4002 });
});

it.each([
  ['is not JSON', () => '{"pid":'],
  ['is a list', () => '[]'],
  ['is too large', () => contentOf() + ' '.repeat(70_000)],
  ['is too deep', () => contentOf({ padding: [[[[[[[[[]]]]]]]]] })],
  ['has no pid', () => contentOf({ pid: undefined })],
  ['has a pid that means a whole group', () => contentOf({ pid: -1 })],
  ['has a token of two lines', () => contentOf({ authToken: 'a\r\nx-evil: 1' })],
  ['has a token that is no text', () => contentOf({ authToken: { a: 1 } })],
  ['names no folders', () => contentOf({ workspaceFolders: 'all' })],
  ['names a relative folder', () => contentOf({ workspaceFolders: ['.'] })],
  ['says a key twice', () => contentOf().replace('{', '{"pid":1,')],
])('does not believe a lockfile that %s', async (_, content) => {
  announce('4001.lock', content());
  await expect(find()).resolves.toBeUndefined();
});

it.each(['0.lock', '65536.lock', '04001.lock', '4001', '-1.lock', '4001.lock.txt'])(
  'reads no port from %s',
  async (name) => {
    announce(name, contentOf());
    await expect(find()).resolves.toBeUndefined();
  },
);

it('follows no link, and does not wait at a pipe', async () => {
  writeFileSync(join(workspace, 'real'), contentOf());
  symlinkSync(join(workspace, 'real'), join(lockFolder, '4001.lock'));
  execFileSync('mkfifo', [join(lockFolder, '4002.lock')]);
  mkdirSync(join(lockFolder, '4003.lock'));
  await expect(find()).resolves.toBeUndefined();
  await expect(find({ lockFolder: join(lockFolder, 'nowhere') })).resolves.toBeUndefined();
});
