import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const ENTRY = { command: process.execPath, args: [join(SERVERS, 'every-kind.mjs')] };
const kinds = (more: object = {}) =>
  project({ 'heddle.json': { mcpServers: { kinds: ENTRY }, ...more }, 'code.ts': 'let a;\n' });
const PICTURE = [0x89, 0x50, 0x4e, 0x47, 0x00, 0xff, 0x0a];

describe('heddle read', () => {
  verifies('L1', 'prints the text of a resource unchanged into a pipe', async () => {
    const { heddle } = kinds();
    const today = '# Today\n\u001b[2Jno newline at the end';
    expect(await heddle(['read', 'notes://today'])).toEqual({ code: 0, stdout: today, stderr: '' });
    expect(await heddle(['read', 'notes://by-id/7'])).toEqual({ code: 0, stdout: 'note 7\n', stderr: '' });
    const several = await heddle(['read', 'notes://folder']);
    expect([several.code, several.stdout]).toEqual([0, 'first\nsecond']);
    const json = await heddle(['read', 'heddle://kinds/notes://by-id/7', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ contents: [{ text: 'note 7\n' }], _meta: { from: 'every-kind' } });
  });

  verifies('L1', 'writes the bytes of a binary resource to a pipe and to a file', async () => {
    const { heddle, folder } = kinds();
    const outcome = await heddle(['read', 'notes://picture', '--output', 'picture.png']);
    expect(outcome).toEqual({ code: 0, stdout: '', stderr: 'Wrote 7 bytes to picture.png.\n' });
    expect([...readFileSync(join(folder, 'picture.png'))]).toEqual(PICTURE);
    const piped = await heddle(['read', 'notes://picture']);
    expect([piped.code, piped.stdout, piped.stderr]).toEqual([0, Buffer.from(PICTURE).toString(), '']);
    const refused = await heddle(['read', 'notes://picture', '--output', 'no/such/folder']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('cannot be written: ENOENT')]);
  });

  verifies('L3', 'shows text on a terminal with escapes, and only the size and type of bytes', async () => {
    const text = await terminal(kinds(), ['read', 'notes://today']);
    expect(await text.ended()).toBe(0);
    expect(text.screen()).toContain('# Today\n\\u{001b}[2Jno newline at the end\n');
    const picture = await terminal(kinds(), ['read', 'notes://picture']);
    expect(await picture.ended()).toBe(0);
    expect(picture.screen()).toContain('notes://picture is image/png, 7 bytes, and not shown on a terminal.');
    expect(picture.screen()).toContain('fix: Add `--output FILE` to write it to a file.');
    const several = await terminal(kinds(), ['read', 'notes://folder']);
    expect(await several.ended()).toBe(0);
    expect(several.screen()).toContain('notes://folder/a (text/plain):\nfirst\nnotes://folder/b:\nsecond\n');
  });

  verifies('L5', 'lists the nearest URIs for an unknown one', async () => {
    const { heddle } = kinds();
    const near = await heddle(['read', 'notes://todya']);
    expect([near.code, near.stdout]).toEqual([2, '']);
    expect(near.stderr).toContain('No server has the resource notes://todya.\n  fix: The nearest are notes://today, ');
    const far = await heddle(['read', 'x:y']);
    expect(far.stderr).toContain(
      "fix: There are notes://folder, notes://picture, notes://today, 'notes://by-id/{id}'.",
    );
    expect((await heddle(['read'])).stderr).toContain('No resource to read was given.');
  });

  verifies('L4', 'passes the permissions, like a call', async () => {
    const denied = await kinds({ permissions: { deny: ['mcp__kinds'] } }).heddle(['read', 'notes://today']);
    expect(denied.code).toBe(2);
    const missing = await project().heddle(['read', 'notes://today', '--config', 'none.json']);
    expect(missing.code).toBe(3);
  });
});

describe('heddle prompt', () => {
  verifies('L1', 'prints the messages of a prompt, and --json the whole result', async () => {
    const { heddle } = kinds();
    expect(await heddle(['prompt', 'kinds.review', 'code=@code.ts', 'language=TypeScript'])).toEqual({
      code: 0,
      stdout: [
        'user:',
        '  | Review this TypeScript code:',
        '  | let a;',
        '',
        'assistant:',
        '  | Gladly.',
        '  | user:',
        '  | \\u{001b}[31mred',
        '',
        'user:',
        '  | [image image/png, 12 base64 characters; --json shows it]',
        '',
      ].join('\n'),
      stderr: 'A review\n',
    });
    const json = await heddle(['prompt', 'kinds', 'review', 'code=1', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ description: 'A review', messages: [{ role: 'user' }, {}, {}] });
    expect((await heddle(['prompt', 'hello'])).stdout).toBe('user:\n  | Hello!\n');
  });

  verifies('L5', 'names missing and misspelt arguments, and a misspelt prompt', async () => {
    const { heddle } = kinds();
    const refused = async (...words: string[]) => {
      const { code, stdout, stderr } = await heddle(['prompt', ...words]);
      expect([code, stdout]).toEqual([2, '']);
      return stderr;
    };
    expect(await refused('kinds.review')).toBe('error INPUT_INVALID: kinds.review needs code.\n  fix: Add code=….\n');
    expect(await refused('kinds.review', 'cod=x')).toContain('fix: Did you mean code?');
    expect(await refused('kinds.review', 'code=x', 'zzz=x')).toContain(
      'fix: It takes review(code: string, language?: string, style?: string).',
    );
    expect(await refused('kinds.review', 'code:=1')).toContain('code wants text, got 1.');
    expect(await refused('kinds.revew', 'code=x')).toContain('fix: Did you mean kinds.review?');
    expect(await refused('kinds.collect')).toContain(
      'kinds.collect is a tool.\n  fix: Run `heddle call kinds.collect`.',
    );
    expect(await refused('kinds')).toContain('kinds is a server, not a prompt.');
    expect(await refused()).toContain('No prompt was given.');
    const called = await heddle(['call', 'kinds.review']);
    expect(called.stderr).toContain('kinds.review is a prompt.\n  fix: Run `heddle prompt kinds.review`.');
  });
});

describe('heddle version', () => {
  it('prints what --version prints, and with --json the version of Node, too', async () => {
    const { heddle } = project();
    const [plain, flag, json] = [
      await heddle(['version']),
      await heddle(['--version']),
      await heddle(['version', '--json']),
    ];
    expect(plain).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/), stderr: '' });
    expect(flag).toEqual(plain);
    const { version, node } = JSON.parse(json.stdout);
    expect([`${version}\n`, node]).toEqual([plain.stdout, process.versions.node]);
  });
});
