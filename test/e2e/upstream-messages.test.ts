import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { listen } from '../servers/http-servers.ts';
import { project, ROOT } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const dying = (name: string) => ({
  command: 'sh',
  args: ['-c', 'cat "$0" >&2; exit 1', join(ROOT, 'test', 'stderr', name)],
});

for (const [name, reason, fix] of [
  ['node-thrown.txt', 'Its stderr: TypeError [ERR_INVALID_ARG_TYPE]: The "path" argument must be', 'by hand'],
  ['python-traceback.txt', "Its stderr: ModuleNotFoundError: No module named 'mcp_server_weather'", 'by hand'],
  ['npm-404.txt', 'Its stderr: npm error 404 Not Found', 'Check the name of the package in its command.'],
  ['uvx-unknown.txt', 'Its stderr: × No solution found', 'Check the name of the package in its command.'],
  ['node-refused.txt', 'Error: connect ECONNREFUSED', 'Check that a server runs at 127.0.0.1:5432.'],
] as const) {
  verifies('L5', `names the error line of ${name}, and the fix for it`, async () => {
    const { heddle } = project({ 'heddle.json': { mcpServers: { dying: dying(name) } } });
    const { code, stderr } = await heddle(['call', 'dying.any']);
    expect(code).toBe(8);
    expect(stderr).toContain(`dying ended before it was ready: it exited with code 1. `);
    expect(stderr).toContain(reason);
    expect(stderr).toContain(fix);
    expect(stderr).not.toMatch(/npm notice|npm warn|^\s+at |connectTimeoutMs/m);
  });
}

verifies('L5', 'gives no routine output of npm as the reason', async () => {
  const { heddle } = project({ 'heddle.json': { mcpServers: { dying: dying('npm-notice-only.txt') } } });
  const { stderr } = await heddle(['call', 'dying.any']);
  expect(stderr).toContain('dying ended before it was ready: it exited with code 1.\n');
});

verifies('L5', 'names an HTML page with its title, on a terminal', async () => {
  const page = '<!doctype html><title>Acme \u001b[31mdocs</title>';
  const server = await listen((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  });
  onTestFinished(() => server.close());
  const one = project({ 'heddle.json': { mcpServers: { docs: { url: server.url } } } });
  const shown = await terminal(one, ['call', 'docs.any'], { rows: 40, cols: 200 });
  expect(await shown.ended()).toBe(8);
  expect(shown.screen()).toMatch(/docs answered HTTP 200 with an HTML page \(title “Acme .*docs”\), not MCP\./);
  expect(shown.screen()).toContain('Check that `url` of docs is the address of its MCP endpoint.');
});

verifies('L5', 'names host and cause when a server cannot be reached', async () => {
  const server = await listen(() => {});
  const { host } = new URL(server.url);
  const secure = server.url.replace('http:', 'https:');
  const unknown = 'http://no-such-host.invalid/mcp';
  const { heddle } = project({
    'heddle.json': { mcpServers: { refused: { url: server.url }, unknown: { url: unknown }, plain: { url: secure } } },
  });
  const tls = await heddle(['call', 'plain.any']);
  expect(tls.stderr).toContain(`No TLS connection to plain at ${host}:`);
  expect(tls.stderr).toContain('fix: Check scheme and port of its `url`.');
  await server.close();
  const refused = await heddle(['call', 'refused.any']);
  expect(refused.stderr).toContain(`refused cannot be reached: nothing listens on ${host} (ECONNREFUSED).`);
  expect(refused.stderr).toContain('fix: Check that the server runs, or correct host and port in `url` of refused.');
  const lost = await heddle(['call', 'unknown.any']);
  expect(lost.stderr).toMatch(/unknown cannot be reached: (there is no host named|the name) no-such-host\.invalid/);
  for (const { code, stderr } of [tls, refused, lost]) {
    expect([code, stderr]).toEqual([8, expect.not.stringMatching(/fetch failed|connectTimeoutMs/)]);
  }
});
