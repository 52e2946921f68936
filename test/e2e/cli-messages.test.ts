import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { project, SERVERS } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const RISKY = { command: process.execPath, args: [join(SERVERS, 'risky-tools.mjs')] };
const risky = () => project({ 'heddle.json': { mcpServers: { browser: RISKY } } });

verifies(
  'L4',
  '`list` lists servers, `list tool` lists tools, and a wrong word is named with what was meant',
  async () => {
    const { heddle } = risky();
    expect((await heddle(['list'])).stdout).toBe((await heddle(['list', 'servers'])).stdout);
    expect((await heddle(['list', 'tool'])).stdout).toContain('mcp__browser__click');
    expect((await heddle(['list', 'category'])).stdout).toContain('filesystem');
    expect(await heddle(['list', 'tols'])).toMatchObject({
      code: 2,
      stderr: 'error USAGE_INVALID: tols is nothing that can be listed.\n  fix: Did you mean `heddle list tools`?\n',
    });
    expect(await heddle(['list', 'browser'])).toMatchObject({
      code: 2,
      stderr: 'error USAGE_INVALID: browser is a server.\n  fix: Did you mean `heddle list tools --server browser`?\n',
    });
  },
);

verifies('L1', '`describe <server>` shows its state, transport and tools', async () => {
  const described = risky();
  const { screen, ended } = await terminal(described, ['describe', 'browser'], { rows: 40, cols: 120 });
  expect(await ended()).toBe(0);
  expect(screen()).toContain('a server: stdio, scope project, connected\n4 tools, 0 resources, 0 prompts\n');
  expect(screen()).toMatch(/^ {2}click {2}It is called click\.$/m);
  const { stdout } = await described.heddle(['describe', 'browser', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'server', name: 'browser', transport: 'stdio' });
  expect(JSON.parse(stdout).tools).toHaveLength(4);
});

it('`describe <server>` prints why a server cannot be described', async () => {
  const { heddle } = project({ 'heddle.json': { mcpServers: { gone: { command: 'no-such-program' } } } });
  const { code, stdout } = await heddle(['describe', 'gone']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/a server: stdio, scope project, failed\n.*\n.*no-such-program.*\n {2}fix: /);
});

verifies('L5', '`doctor` of an unknown server names the nearest one and exits with 2', async () => {
  expect(await risky().heddle(['doctor', 'brwser'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error NAME_UNKNOWN: No server is named brwser.\n  fix: Did you mean browser?\n',
  });
});

verifies('L5', '`add` without `--` prints the corrected command, without secrets', async () => {
  const { heddle } = project();
  const fixOf = async (...words: string[]) => {
    const { code, stderr } = await heddle(['add', ...words]);
    expect(code).toBe(2);
    return stderr.split('\n').find((line) => line.startsWith('  fix: '));
  };
  expect(await fixOf('foo', 'npx', '-y', 'bar')).toBe('  fix: Did you mean `heddle add foo -- npx -y bar`?');
  expect(await fixOf('foo', 'npx', 'bar')).toBe('  fix: Did you mean `heddle add foo -- npx bar`?');
  expect(await fixOf('npx', '-y', 'bar')).toBe('  fix: Did you mean `heddle add -- npx -y bar`?');
  expect(await fixOf('foo', '--env', 'TOKEN=hidden', 'npx', 'bar', '--api-key', 'hidden')).toBe(
    "  fix: Did you mean `heddle add foo --env 'TOKEN=…' -- npx bar --api-key '[REDACTED]'`?",
  );
  expect(await fixOf('foo', '--env=TOKEN=hidden', '--header=Authorization: hidden', 'npx', 'bar')).toBe(
    "  fix: Did you mean `heddle add foo '--env=TOKEN=…' '--header=Authorization: …' -- npx bar`?",
  );
  expect(await fixOf('wiki', 'htps://example.com')).not.toContain('Did you mean');
  expect((await heddle('add foo -- npx -y bar'.split(' '))).code).toBe(0);
});

verifies('C2', '`add` names a server after its host, not after a generic label, and says the name', async () => {
  const { heddle, home } = project();
  const { code, stderr } = await heddle(['add', 'https://mcp.example.com/mcp', '--scope', 'user']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'No name was given, so the server is called example.\n' });
  expect(JSON.parse(readFileSync(join(home, 'heddle.json'), 'utf8')).mcpServers).toHaveProperty('example');
});
