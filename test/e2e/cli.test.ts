import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { BIN, project, SERVERS } from './heddle-command.ts';

const COMMANDS = ['up', 'serve', 'list', 'call', 'describe', 'search', 'stats', 'config', 'doctor'];
const odd = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')] };
const CONFIG = { 'heddle.json': { mcpServers: { odd } } };

verifies('L1', 'takes -v before the command and after it, and alone as the version', async () => {
  const { heddle } = project(CONFIG);
  const before = await heddle(['-v', 'call', 'odd.echo', 'message=x']);
  expect(before.code).toBe(0);
  expect(before).toEqual(await heddle(['call', '-v', 'odd.echo', 'message=x']));
  expect(before.stderr).toContain('Servers are started here.');
  expect((await heddle(['-v'])).stdout).toBe((await heddle(['version'])).stdout);
});

describe('every read command', () => {
  it.each([
    [[]],
    [['list', 'servers']],
    [['list', 'servers', '--check']],
    [['list', 'tools']],
    [['list', 'categories']],
    [['describe', 'odd.echo']],
    [['search', 'echo']],
    [['call', 'odd.echo', 'message=x']],
    [['config', 'explain']],
    [['config', 'explain', 'odd']],
    [['doctor']],
    [['doctor', 'odd']],
  ])('L3: %j prints text for people, and with --json one JSON value and nothing else', async (args) => {
    const { heddle } = project(CONFIG);
    const plain = await heddle([...args]);
    expect(plain.code).toBe(0);
    expect(plain.stdout).toMatch(/\S\n$/);
    const json = await heddle([...args, '--json']);
    expect([json.code, json.stderr]).toEqual([0, '']);
    expect(JSON.parse(json.stdout)).toBeTypeOf('object');
    expect(json.stdout.trimEnd()).not.toContain('\n');
  });

  verifies('L3', 'prints errors on stderr, as JSON with --json', async () => {
    const { code, stdout, stderr } = await project().heddle(['describe', 'no.tool', '--json']);
    expect([code, stdout]).toEqual([2, '']);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'NAME_UNKNOWN', message: expect.any(String), fix: expect.any(String) },
    });
  });
});

describe('a command line', () => {
  it.each([
    [['lst'], 'Did you mean `heddle list`?'],
    [['docter'], 'Did you mean `heddle doctor`?'],
    [['help', 'cal'], 'Did you mean `heddle call`?'],
    [['qwertz'], 'Run `heddle --help` to see the commands.'],
    [['constructor'], 'Run `heddle --help` to see the commands.'],
    [['list', 'tools', '--jsn'], 'Did you mean --json?'],
    [['call', 'odd.echo', '--timout', '5'], 'Did you mean --timeout?'],
    [['call', 'odd.ecko', 'message=x'], 'Did you mean odd.echo?'],
    [['describe', 'mcp__odd__ech'], 'Did you mean mcp__odd__echo?'],
    [['list', 'everything'], 'Use one of servers, tools'],
    [['list', 'tools', '--server', 'od'], 'Did you mean odd?'],
    [['list', 'tools', '--category', 'uncategorised'], 'Did you mean uncategorized?'],
    [['list', 'servers', '--category', 'x'], '--help'],
    [['search'], '--help'],
    [['search', 'x', '--limit', '101'], '--help'],
    [['stats', '--since', 'yesterday'], '24h'],
    [['serve'], 'heddle serve --stdio'],
    [['describe'], '--help'],
    [['config', 'explian'], 'heddle config explain'],
    [['doctor', 'a', 'b'], '--help'],
    [['up', '--port', '70000'], '--help'],
  ])('L3: %j is refused with the fix %s', async (args, fix) => {
    const { code, stdout, stderr } = await project(CONFIG).heddle(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('  fix: ');
    expect(stderr).toContain(fix);
  });

  it.each(COMMANDS)('L5: the help of %s has usage and example', async (command) => {
    const { heddle } = project();
    const help = await heddle([command, '--help']);
    expect([help.code, help.stderr]).toEqual([0, '']);
    expect(help.stdout).toMatch(
      new RegExp(`Usage: heddle ${command}[^]*\n {2}--config FILE[^]*Examples?:\n {2}.*${command}`),
    );
    expect(await heddle(['help', command])).toEqual(help);
    expect((await heddle(['--help'])).stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'));
  });

  verifies('L1', 'accepts --version', async () => {
    expect((await project().heddle(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('output', () => {
  verifies('L3', 'has colours only with FORCE_COLOR or a terminal', async () => {
    const { heddle } = project(CONFIG);
    const paint = '\u001b[';
    for (const args of [['doctor'], ['list', 'tools'], ['describe', 'odd.echo'], ['lst']]) {
      const plain = await heddle(args, { env: { NO_COLOR: '1', FORCE_COLOR: '' }, spawned: true });
      const piped = await heddle(args, { spawned: true });
      const forced = await heddle(args, { env: { FORCE_COLOR: '1' }, spawned: true });
      expect(plain.stdout + plain.stderr + piped.stdout + piped.stderr).not.toContain(paint);
      expect(forced.stdout + forced.stderr).toContain(paint);
    }
  });

  verifies('L3', 'may be closed early by its reader', async () => {
    const { folder, env } = project({ big: 'x'.repeat(3_000_000) });
    const args = [BIN, 'call', 'filesystem.fs_read_file', 'path=big'];
    const child = spawn(process.execPath, args, { cwd: folder, env });
    const stderr = text(child.stderr);
    const closed = once(child, 'close');
    await once(child.stdout, 'data');
    child.stdout.destroy();
    await closed;
    expect([child.exitCode, await stderr]).toEqual([0, '']);
  });

  verifies('L3', 'of a tool that needs approval is an error without a terminal', async () => {
    const { heddle } = project({ 'heddle.json': { mcpServers: { odd }, mode: 'strict' } });
    const { code, stderr } = await heddle(['call', 'odd.echo', 'message=x'], { stdin: 'y\n' });
    expect([code, stderr]).toEqual([6, expect.stringContaining('APPROVAL_PENDING')]);
  });
});

describe('the configuration', () => {
  verifies('C7', 'is explained with file and line', async () => {
    const { heddle, folder } = project({
      'heddle.json': '{\n  "gateway": { "port": 8123 },\n  "mcpServers": { "a": { "command": "x" } }\n}',
      '.mcp.json': '{ "mcpServers": { "a": { "command": "y" } } }',
    });
    const one = await heddle(['config', 'explain', 'gateway.port', '--json']);
    expect(JSON.parse(one.stdout)).toMatchObject([
      { key: 'gateway.port', value: 8123, scope: 'project', file: join(folder, 'heddle.json'), line: 2 },
    ]);
    const all = await heddle(['config', 'explain', 'a']);
    expect(all.stdout).toContain(`${join(folder, '.mcp.json')}:1`);
    expect((await heddle(['config', 'explain', 'nothing'])).code).toBe(2);
  });

  verifies('C10', 'with an error is reported on stderr, and calls of the other files need an approval', async () => {
    const { heddle, folder } = project({ 'heddle.json': '{ "permissions": }', '.mcp.json': { mcpServers: { odd } } });
    const call = ['call', 'odd.plain', 'message=x'];
    expect((await heddle(call)).code).toBe(6); // The broken file may have had a rule that denies.
    const { code, stdout, stderr } = await heddle([...call, '--yes']);
    expect([code, stdout]).toEqual([0, 'x\n']);
    expect(stderr).toContain(`config error: ${join(folder, 'heddle.json')}:1:18`);
  });

  verifies('L4', 'with an error, or a broken server, makes doctor exit with 1 and print a fix', async () => {
    const { heddle } = project({ 'heddle.json': { mcpServers: { odd, bad: { command: 'no-such-program' } } } });
    const { code, stdout } = await heddle(['doctor', '--json']);
    expect(code).toBe(1);
    const findings = JSON.parse(stdout) as { level: string; subject: string; message: string; fix?: string }[];
    expect(findings.filter(({ level }) => level === 'error')).toMatchObject([
      { subject: 'server bad', message: expect.stringContaining('no-such-program'), fix: expect.stringMatching(/\S/) },
    ]);
    expect(findings).toContainEqual(expect.objectContaining({ level: 'ok', subject: 'server odd' }));
    expect((await heddle(['doctor', 'odd'])).code).toBe(0);
    expect((await heddle(['doctor', 'bad'])).code).toBe(1);
    const broken = await project({ 'heddle.json': '{ "mode": "lenient" }' }).heddle(['doctor']);
    expect([broken.code, broken.stdout]).toEqual([1, expect.stringContaining('mode')]);
  });
});
