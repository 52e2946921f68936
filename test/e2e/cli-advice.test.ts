import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openHeddle } from '../../src/index.ts';
import { verifies } from '../requirements.ts';
import { project, SERVERS } from './heddle-command.ts';

const ODD = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')] };

const written = (more: object, entry: object = {}) =>
  project({ 'heddle.json': JSON.stringify({ mcpServers: { odd: { ...ODD, ...entry } }, ...more }, null, 1) });

/** Returns the line number of a key in heddle.json. */
const lineOf = (more: object, key: string, entry: object = {}) =>
  JSON.stringify({ mcpServers: { odd: { ...ODD, ...entry } }, ...more }, null, 1)
    .split('\n')
    .findIndex((line) => line.includes(`"${key}"`)) + 1;

verifies(
  'L5',
  'an APPROVAL_PENDING error names the `ask` rule, its file and line, and the command that decides',
  async () => {
    const more = { permissions: { ask: ['mcp__odd__plain'] } };
    const { code, stderr } = await written(more).heddle(['call', 'odd.plain', 'message=x']);
    expect(code).toBe(6);
    expect(stderr).toContain('mcp__odd__plain says ask');
    expect(stderr).toMatch(/fix: Run `heddle approvals approve ap_\w{16}` in a terminal, then repeat the same call\./);
    expect(stderr).toContain(`heddle.json:${lineOf(more, 'ask')}.`);
    expect(stderr).not.toContain('permissions.allow');
  },
);

verifies('L5', 'names the rule that hides a tool to the CLI user, but not to a program', async () => {
  const more = { permissions: { deny: ['mcp__odd__fail'] } };
  const { heddle, folder, env } = written(more);
  const { code, stderr } = await heddle(['call', 'odd.fail']);
  expect(code).toBe(5);
  expect(stderr).toContain('error PERMISSION_DENIED');
  expect(stderr).toContain('odd.fail is hidden. The rule mcp__odd__fail says deny.');
  expect(stderr).toContain('Take mcp__odd__fail out of `permissions.deny` to have it back.');
  expect(stderr).toContain(`heddle.json:${lineOf(more, 'deny')}.`);
  const described = await heddle(['describe', 'odd.fail']);
  expect(described.code).toBe(5);
  expect(described.stderr).toContain('odd.fail is hidden. The rule mcp__odd__fail says deny.');
  expect(described.stderr).toContain(`heddle.json:${lineOf(more, 'deny')}.`);
  await using program = await openHeddle({ cwd: folder, env });
  const refused = await program.call('odd.fail').catch((thrown) => thrown);
  expect(refused).toMatchObject({ code: 'NAME_UNKNOWN', message: 'Nothing is named odd.fail.' });
  expect(JSON.stringify([refused.fix, refused.details])).not.toMatch(/deny|rule/);
});

it('names a rule that hides a whole server, and an entry that hides a tool', async () => {
  const all = await written({ permissions: { deny: ['mcp__odd'] } }).heddle(['call', 'odd.fail']);
  expect(all.stderr).toContain('odd.fail is hidden. All entries of odd are denied.');
  const entry = { permissions: { deniedTools: ['fail'] } };
  const own = await written({}, entry).heddle(['call', 'odd.fail']);
  expect([all.code, own.code]).toEqual([5, 5]);
  expect(own.stderr).toContain('Change `mcpServers.odd.permissions.deniedTools` to have it back.');
  expect(own.stderr).toContain(`heddle.json:${lineOf({}, 'deniedTools', entry)}.`);
});

verifies('L5', 'names the tools of an ad-hoc server for an unknown tool', async () => {
  const { heddle } = project({});
  const odd = ['call', '--', ODD.command, ...ODD.args, '::'];
  expect((await heddle([...odd, 'plan'])).stderr).toContain('no tool named plan.\n  fix: Did you mean plain?');
  const { code, stderr } = await heddle([...odd, 'nothing-like-it']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/fix: It has \S+, .*\bplain\b.*\./);
  expect(stderr).not.toContain('heddle list');
});

it('suggests `list tools` when only a server is named', async () => {
  const { code, stderr } = await written({}).heddle(['call', 'odd']);
  expect(code).toBe(2);
  expect(stderr).toContain('odd is a server, not a tool.');
  expect(stderr).toContain('heddle list tools --server odd');
});

verifies('L5', 'suggests `list tools` of the same ad-hoc server when no tool is named', async () => {
  const { heddle } = project();
  const fixOf = async (...words: string[]) => {
    const { code, stderr } = await heddle(['call', ...words]);
    expect(code).toBe(2);
    return stderr.split('\n').find((line) => line.startsWith('  fix: '));
  };
  const url = 'http://localhost:3001/mcp';
  expect(await fixOf(url)).toBe(`  fix: Run \`heddle list tools ${url}\` to see them.`);
  expect(await fixOf('--', 'node', 'a server.js', '::')).toContain(
    "Run `heddle list tools -- node 'a server.js'` to see them",
  );
  expect(await fixOf('--', 'node', 'x.js', 'echo', 'message=hi')).toContain(':: echo message=hi');
  expect(await fixOf('--', 'node', 'x.js', '::')).toContain('Run `heddle list tools -- node x.js` to see them');
  expect(await fixOf('--', 'node', 'x.js', '--api-key', 'hidden', '::')).not.toContain('hidden');
  expect(await fixOf('--')).toContain('heddle call -- npx');
});

/** Starts an HTTP server that answers every request with this status and records the authorization headers. */
async function answering(status: number) {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(status).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  return { seen, port: (server.address() as AddressInfo).port, close: () => server.close() };
}

verifies('L2', 'accepts --header for a URL, and its errors suggest --header', async () => {
  const { port, seen } = await answering(401);
  const { heddle } = project();
  const url = `http://127.0.0.1:${port}/mcp`;
  const first = await heddle(['call', url, 'echo']);
  expect([first.code, first.stderr]).toEqual([4, expect.stringContaining("Add `--header 'Authorization: Bearer …'`")]);
  await heddle(['call', url, 'echo', '--header', 'Authorization: Bearer abc']);
  expect(seen.at(-1)).toBe('Bearer abc');
  const configured = await heddle(['call', 'filesystem.fs_read_file', '--header', 'A: b']);
  expect([configured.code, configured.stderr]).toEqual([2, expect.stringContaining('called by its URL')]);
});

verifies('L5', 'names host and port when nothing listens at the URL', async () => {
  const { port, close } = await answering(200);
  await new Promise((closed) => close().once('close', closed));
  const { code, stderr } = await project().heddle(['call', `http://localhost:${port}/mcp`, 'echo']);
  expect(code).toBe(8);
  expect(stderr).toContain(`localhost cannot be reached: nothing listens on localhost:${port} (ECONNREFUSED).`);
  expect(stderr).toContain('fix: Check that the server runs, or correct host and port in the address.');
});
