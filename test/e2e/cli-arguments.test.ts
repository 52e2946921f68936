import { execFileSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const KINDS = join(SERVERS, 'every-kind.mjs');
const kinds = () =>
  project({
    'heddle.json': {
      mcpServers: { kinds: { command: process.execPath, args: [KINDS], env: { STARTS: '${workspaceFolder}/starts' } } },
    },
    'note.txt': 'from a file, with a comma\n',
    'filter.json': '{"from": 12345678901234567890}',
  });

describe('heddle call with key=value', () => {
  verifies('L2', 'converts values as the schema of the tool wants, and connects the server once', async () => {
    const { heddle, folder } = kinds();
    const words = ['count=3', 'id=9007199254740993', 'loud=true', 'note=12', 'tags=a,b', 'filter={"from":1}'];
    const outcome = await heddle(['call', 'kinds.collect', ...words, 'unit=celsius']);
    expect(outcome).toEqual({
      code: 0,
      stdout:
        '{"count":3,"id":9007199254740993,"loud":true,"note":"12","tags":["a","b"],"filter":{"from":1},"unit":"celsius"}\n',
      stderr: '',
    });
    expect(readFileSync(join(folder, 'starts'), 'utf8')).toBe('started\n');
    const again = await heddle(['call', 'kinds', 'collect', 'note=x', 'tags=a', 'tags=b,c', 'id=null']);
    expect(again).toEqual({ code: 0, stdout: '{"note":"x","tags":["a","b","c"],"id":null}\n', stderr: '' });
    expect(readFileSync(join(folder, 'starts'), 'utf8')).toBe('started\n'.repeat(2));
  });

  verifies('L2', 'converts values for an ad-hoc server, and overrides --args', async () => {
    const adHoc = ['--', process.execPath, KINDS, '::', 'collect', 'count=3', 'note=y'];
    const outcome = await project().heddle(['call', '--args', '{"note":"x","loud":false}', ...adHoc]);
    expect(outcome).toEqual({ code: 0, stdout: '{"note":"y","loud":false,"count":3}\n', stderr: '' });
  });

  verifies('L2', 'reads key=@file, key:=@file, key=@- and key=@@text', async () => {
    const { heddle } = kinds();
    const files = await heddle(['call', 'kinds.collect', 'note=@note.txt', 'filter:=@filter.json', 'tags=@note.txt']);
    expect(files.stdout).toBe(
      '{"note":"from a file, with a comma\\n","filter":{"from":12345678901234567890},"tags":["from a file, with a comma\\n"]}\n',
    );
    const stdin = await heddle(['call', 'kinds.collect', 'note=@-'], { stdin: 'typed' });
    expect(stdin.stdout).toBe('{"note":"typed"}\n');
    const literal = await heddle(['call', 'kinds.collect', 'note=@@ann']);
    expect(literal.stdout).toBe('{"note":"@ann"}\n');
  });

  verifies('L5', 'refuses what is no readable text file, and names it', async () => {
    const { heddle, folder } = kinds();
    writeFileSync(join(folder, 'big'), '');
    truncateSync(join(folder, 'big'), 10 * 1024 * 1024 + 1);
    writeFileSync(join(folder, 'bytes'), Buffer.from([0xff, 0xfe]));
    execFileSync('mkfifo', [join(folder, 'fifo')]);
    const refused = async (...words: string[]) => {
      const { code, stdout, stderr } = await heddle(['call', 'kinds.collect', ...words], { stdin: 'x' });
      expect([code, stdout]).toEqual([2, '']);
      return stderr;
    };
    expect(await refused('note=@missing')).toBe(
      'error INPUT_INVALID: The file missing cannot be read: it does not exist.\n' +
        '  fix: Check its path. Write note=@@missing for the text @missing.\n',
    );
    expect(await refused('note=@~/x')).toContain('The shell does not expand ~ here: write $HOME/x.');
    expect(await refused('note=@big')).toContain('The file big has more than 10 MB.');
    expect(await refused('note=@bytes')).toContain('The file bytes is not UTF-8 text.');
    expect(await refused('note=@fifo')).toContain('fifo is not a regular file.');
    expect(await refused('note=@.')).toContain('. is not a regular file.');
    expect(await refused('note=@')).toContain('note=@ names no file.');
    expect(await refused('filter:=@note.txt')).toContain('the value of filter is not JSON');
    expect(await refused('note=@-', 'tags=@-')).toContain('Stdin was to be read twice.');
  });

  verifies('L5', 'names a misspelt argument, a misspelt server and a value that does not fit', async () => {
    const { heddle } = kinds();
    const refused = async (...words: string[]) => {
      const { code, stdout, stderr } = await heddle(['call', ...words]);
      expect([code, stdout]).toEqual([2, '']);
      return stderr;
    };
    expect(await refused('kinds.collect', 'nte=x')).toBe(
      'error INPUT_INVALID: nte is not an argument of kinds.collect.\n  fix: Did you mean note?\n',
    );
    expect(await refused('kinds.loose', 'mesage=x')).toContain('fix: Did you mean message?');
    expect(await refused('kinds.collect', 'note=x', 'count=many')).toBe(
      'error INPUT_INVALID: count wants a whole number, got "many".\n' +
        '  fix: It takes collect(note: string, count?: number, id?: number | null, loud?: boolean, tags?: string[], ' +
        'filter?: { from?: number }, unit?: "celsius" | "fahrenheit") -> { note: string }.\n',
    );
    expect(await refused('kinds.collect', 'note=x', 'unit=celsus')).toContain('fix: Did you mean celsius?');
    expect(await refused('kind', 'collect', 'note=x')).toContain(
      'No server is named kind.\n  fix: Did you mean kinds?',
    );
    expect(await refused('kinds.collect')).toContain('fix: Write for example note=text.');
  });

  it('is explained by --help', async () => {
    const { stdout } = await project().heddle(['call', '--help']);
    expect(stdout).toContain(
      'key=@file is the text of a file, key:=@file its JSON, key=@- stdin, and key=@@x the text @x.',
    );
    expect(stdout).toContain('Text that is valid as written stays text.');
  });

  it('shows the converted arguments before it asks for approval at a terminal', async () => {
    const { command, args } = { command: process.execPath, args: [KINDS] };
    const asking = project({
      'heddle.json': { mcpServers: { kinds: { command, args } }, permissions: { ask: ['mcp__kinds__collect'] } },
    });
    const shown = await terminal(asking, ['call', 'kinds', 'collect', 'note=hi', 'count=3']);
    await shown.type('Run it? [y/', 'y');
    expect(await shown.ended()).toBe(0);
    expect(shown.screen()).toContain('"count": 3');
    expect(shown.screen()).toContain('{"note":"hi","count":3}');
  });
});
