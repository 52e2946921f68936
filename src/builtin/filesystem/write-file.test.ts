import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aTree, entriesBelow, layTraps, SECRET, serve } from './fixtures.ts';
import { openRoots } from './places/roots.ts';
import { writeFileTool } from './write-file.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

const contentOf = (...names: string[]) => readFileSync(join(tree.root, ...names), 'utf8');
const onLinux = process.platform === 'linux';

describe.each(onLinux ? (['linux', 'darwin'] as const) : [process.platform])('with the rules for %s', (platform) => {
  const served = () => serve({ roots: [tree.root, tree.second], platform });

  verifies('B1', 'creates a file with its directories, and returns path, bytes and created', async () => {
    const { write } = await served();
    const { result } = await write('new/deep/é.txt', 'é\n');
    const report = { path: join(tree.root, 'new/deep/é.txt'), bytes: 3, created: true };
    expect(result.structuredContent).toEqual(report);
    expect(contentOf('new/deep/é.txt')).toBe('é\n');
    expect((await write('new/deep/é.txt', '')).result.structuredContent).toEqual({
      ...report,
      bytes: 0,
      created: false,
    });
    expect(contentOf('new/deep/é.txt')).toBe('');
    expect(readdirSync(join(tree.root, 'new/deep'))).toEqual(['é.txt']);
  });

  it('writes bytes given as base64, and refuses what is not base64', async () => {
    const { write } = await served();
    const bytes = Buffer.from([0, 255, 128, 10]);
    expect((await write('bytes', bytes.toString('base64'), { encoding: 'base64' })).isError).toBe(false);
    expect(readFileSync(join(tree.root, 'bytes'))).toEqual(bytes);
    for (const content of ['AA', 'AAA=A', 'A A=', 'AP-_', '====']) {
      expect((await write('bytes', content, { encoding: 'base64' })).text, content).toMatch(/is not base64/);
    }
    expect((await write('bytes', '\ud800')).text).toMatch(/half a character/);
    expect(readFileSync(join(tree.root, 'bytes'))).toEqual(bytes);
  });

  it('replaces the target of a link inside the roots, and the link stays', async () => {
    symlinkSync('sub/inner.txt', join(tree.root, 'link'));
    symlinkSync(tree.second, join(tree.root, 'other'));
    symlinkSync('not-yet.txt', join(tree.root, 'dangling'));
    const { write } = await served();
    const { result } = await write('link', 'by link');
    expect(result.structuredContent).toMatchObject({ path: join(tree.root, 'sub/inner.txt'), created: false });
    expect([contentOf('sub/inner.txt'), readlinkSync(join(tree.root, 'link'))]).toEqual(['by link', 'sub/inner.txt']);
    await write('other/new/x.txt', 'in the second root');
    expect(readFileSync(join(tree.second, 'new/x.txt'), 'utf8')).toBe('in the second root');
    expect((await write('dangling', 'x')).result.structuredContent).toMatchObject({ created: true });
    expect([contentOf('not-yet.txt'), lstatSync(join(tree.root, 'dangling')).isSymbolicLink()]).toEqual(['x', true]);
  });

  it('resolves a .. in a link after the link before it, as the system does', async () => {
    symlinkSync('sub/deep', join(tree.root, 'dl'));
    symlinkSync('dl/../target.txt', join(tree.root, 'up'));
    symlinkSync('nowhere/../target.txt', join(tree.root, 'broken'));
    symlinkSync('dl/../..', join(tree.root, 'top'));
    const { write } = await serve({ roots: [tree.root], platform });
    expect((await write('up', 'by link')).isError).toBe(false);
    expect(contentOf('sub/target.txt')).toBe('by link');
    expect((await write('broken', 'x')).isError).toBe(true);
    expect((await write('top', 'x')).text).toMatch(/is a directory/);
    expect((await write('top/new/file.txt', 'x')).isError).toBe(false);
    expect([contentOf('new/file.txt'), existsSync(join(tree.root, 'nowhere'))]).toEqual(['x', false]);
  });

  it('writes nothing through a link that leads outside, and creates no directory for it', async () => {
    layTraps(tree);
    const { write } = await served();
    for (const path of ['out-file', 'out-dir/new.txt', 'out-dir/new/deep.txt', 'chain-1', 'sub/up/outside/new']) {
      expect((await write(path, 'changed')).text, path).toMatch(/outside the allowed roots/);
    }
    expect(readdirSync(tree.outside)).toEqual(['secret.txt']);
    expect(readFileSync(join(tree.outside, 'secret.txt'), 'utf8')).toBe(SECRET);
  });

  it('leaves the old content to another hard link, and says so', async () => {
    linkSync(join(tree.root, 'hello.txt'), join(tree.outside, 'other-name'));
    const { write } = await served();
    const { result } = await write('hello.txt', 'new');
    expect(result.structuredContent).toMatchObject({ created: false, otherLinks: 1 });
    expect(result.content).toMatchObject([{}, { text: expect.stringMatching(/keep the old content/) }]);
    expect(readFileSync(join(tree.outside, 'other-name'), 'utf8')).toBe('hello\n');
    expect(contentOf('hello.txt')).toBe('new');
  });

  it('keeps the mode of a file without set-id bits, and gives a new file the mode of the umask', async () => {
    chmodSync(join(tree.root, 'hello.txt'), 0o6751);
    const tool = writeFileTool({ roots: await openRoots([tree.root], { platform }), maxFileBytes: 100, umask: 0o027 });
    const { signal } = new AbortController();
    await tool.run({ path: 'hello.txt', content: 'x' }, signal);
    await tool.run({ path: 'new.txt', content: 'x' }, signal);
    const modes = ['hello.txt', 'new.txt'].map((name) => statSync(join(tree.root, name)).mode & 0o7777);
    expect(modes).toEqual([0o751, 0o640]);
  });

  it.each([
    ['sub', /is a directory/],
    ['.', /is a directory/],
    ['sub/', /names a directory/],
    ['pipe', /a device, a pipe or a socket/],
    ['loop-1', /in a circle/],
    ['hello.txt/below', /not a directory/],
    [`sub/.heddle-${'0'.repeat(32)}.tmp`, /temporary file/],
    ['x'.repeat(300), /too long/],
    ['deep/'.repeat(1000).concat('x'), /too long/],
    ['', /is empty/],
    ['a\0b', /NUL/],
  ])('refuses to write %j, with the reason', async (path, reason) => {
    layTraps(tree);
    const before = entriesBelow(tree.root);
    const { write } = await served();
    const { isError, text } = await write(path, 'x');
    expect([isError, text]).toEqual([true, expect.stringMatching(reason)]);
    expect(entriesBelow(tree.root)).toEqual(before);
  });

  verifies('B1', 'counts the bytes of the content, and changes nothing above the limit', async () => {
    const { write } = await serve({ roots: [tree.root], maxFileBytes: 5, platform });
    expect((await write('deep/x', 'ééé')).text).toMatch(/has 6 bytes, and at most 5 are written/);
    expect((await write('hello.txt', 'AAAAAAAA', { encoding: 'base64' })).text).toMatch(/has 6 bytes/);
    expect([existsSync(join(tree.root, 'deep')), contentOf('hello.txt')]).toEqual([false, 'hello\n']);
    expect((await write('deep/x', 'éé1')).isError).toBe(false);
  });

  it('creates no directory with createDirs false', async () => {
    const { write } = await served();
    expect((await write('a/b', 'x', { createDirs: false })).text).toMatch(/directory that does not exist/);
    expect((await write('sub/b', 'x', { createDirs: false })).isError).toBe(false);
    expect(existsSync(join(tree.root, 'a'))).toBe(false);
  });

  it('removes temporary files of a killed process after an hour, with the next write there', async () => {
    const now = Date.parse('2026-01-02T12:00:00Z');
    const names = ['old', 'young'].map((_, index) => `.heddle-${String(index).repeat(32)}.tmp`);
    const [old = '', young = ''] = names.map((name) => join(tree.root, 'sub', name));
    for (const path of [old, young]) writeFileSync(path, 'left over');
    utimesSync(old, now / 1000, now / 1000 - 3601);
    utimesSync(young, now / 1000, now / 1000 - 3599);
    const roots = await openRoots([tree.root], { platform });
    const tool = writeFileTool({ roots, maxFileBytes: 100, clock: () => now });
    await tool.run({ path: 'sub/x', content: 'x' }, new AbortController().signal);
    expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
  });

  it('leaves nothing when the call is cancelled', async () => {
    const tool = writeFileTool({ roots: await openRoots([tree.root], { platform }), maxFileBytes: 100 });
    const before = entriesBelow(tree.root);
    for (const steps of [0, 1, 2, 3, 4, 5]) {
      const running = tool.run({ path: 'new/deep/file', content: 'x' }, abortedAfter(steps));
      await expect(running, `${steps}`).rejects.toMatchObject({ name: 'AbortError' });
    }
    expect(entriesBelow(tree.root)).toEqual(before);
  });
});

/** Returns a signal that aborts at the given check. */
function abortedAfter(checks: number): AbortSignal {
  const aborted = AbortSignal.abort();
  let count = 0;
  return {
    throwIfAborted() {
      if (count++ >= checks % 4) aborted.throwIfAborted();
    },
  } as AbortSignal;
}

it('does not write into the hidden folder, in any case', async () => {
  const hidden = join(tree.root, 'Home');
  mkdirSync(hidden);
  const { write } = await serve({ roots: [tree.root], hidden: [hidden] });
  expect((await write('Home/x', 'x')).text).toMatch(/outside the allowed roots/);
  expect((await write('HOME/x', 'x')).text).toMatch(/never writes/);
  expect(readdirSync(hidden)).toEqual([]);
});

it('lists the tool as one that needs an approval, and not with readOnly', async () => {
  const toolsOf = async (readOnly: boolean) => {
    const { peer } = await serve({ roots: [tree.root], readOnly });
    return (await peer.request('tools/list', {}, { deadlineMs: 120_000 })).tools as { name: string }[];
  };
  const all = await toolsOf(false);
  expect(all.find(({ name }) => name === 'fs_write_file')).toMatchObject({
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    _meta: {
      'dev.heddle/tool': { category: 'filesystem', riskLevel: 'medium', idempotent: false, requiresApproval: true },
    },
  });
  const left = (await toolsOf(true)).map(({ name }) => name);
  expect(left).toEqual(['fs_read_file', 'fs_list_directory', 'fs_search_files', 'fs_get_file_info']);
});
