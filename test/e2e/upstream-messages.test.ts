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
  [
    'node-thrown.txt',
    'Its stderr: TypeError [ERR_INVALID_ARG_TYPE]: The "path" argument must be',
    'Correct what its stderr names',
  ],
  [
    'python-traceback.txt',
    "Its stderr: ModuleNotFoundError: No module named 'mcp_server_weather'",
    'Install mcp_server_weather',
  ],
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

verifies('L5', 'quotes the line that names a variable, says where to set it, and shows no secret', async () => {
  const script = 'echo "key sk-abcdef1234567890 ignored" >&2; echo "FOO_API_KEY is not set" >&2; exit 1';
  const needy = { command: 'sh', args: ['-c', script] };
  const { heddle } = project({
    'heddle.json': { mcpServers: { needy, given: { ...needy, env: { FOO_API_KEY: 'x' } } } },
  });
  const { stderr } = await heddle(['call', 'needy.any']);
  expect(stderr).toContain('Its stderr: FOO_API_KEY is not set\n');
  expect(stderr).toContain('fix: Set FOO_API_KEY in `env` of needy: ');
  expect(stderr).toContain('heddle secret set needy.FOO_API_KEY');
  expect(stderr).not.toContain('sk-abcdef');
  expect((await heddle(['call', 'given.any'])).stderr).toContain('fix: Correct FOO_API_KEY in `env` of given.');
  const shell = await heddle(['call', 'needy.any'], { env: { FOO_API_KEY: 'set-here' } });
  expect(shell.stderr).toContain('fix: Add `"FOO_API_KEY": "${FOO_API_KEY}"` to `env` of needy');
});

for (const [kind, printed] of [
  ['a greeting', 'Listening on http://localhost:3000 token=abcdef123456'],
  ['a JSON log', '{"level":"info","token":"abcdef123456"}'],
] as const) {
  verifies('L5', `quotes the first line of stdout that is no message: ${kind}`, async () => {
    const chatty = {
      ...{ command: 'sh', args: ['-c', 'echo "$0"; exec cat >/dev/null', printed] },
      connectTimeoutMs: 1000,
    };
    const { heddle } = project({ 'heddle.json': { mcpServers: { chatty } } });
    const { stderr } = await heddle(['call', 'chatty.any']);
    expect(stderr).toContain(`It printed 1 line on stdout that is not MCP: “${printed.slice(0, 20)}`);
    expect(stderr).toContain('fix: Start chatty in its stdio mode');
    expect(stderr).not.toMatch(/abcdef123456|connectTimeoutMs/);
  });
}

verifies('L5', 'the doctor never recommends itself', async () => {
  const server = await listen((request, response) => {
    const status = Number(request.url?.slice(1)) || 500;
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":"Bearer abcdef123456"}');
  });
  onTestFinished(() => server.close());
  const { origin } = new URL(server.url);
  const refusing = { command: process.execPath, args: ['-e', REFUSES] };
  const entries = [400, 403, 404, 500, 503].map((status) => [`http${status}`, { url: `${origin}/${status}` }] as const);
  const mcpServers: Record<string, object> = { ...Object.fromEntries(entries), refusing };
  const { heddle } = project({ 'heddle.json': { mcpServers } });
  for (const name of Object.keys(mcpServers)) {
    const { stdout } = await heddle(['doctor', name]);
    expect(stdout, name).toMatch(/✗ server .*\n {2}fix: /);
    expect(stdout, name).not.toMatch(/heddle doctor|abcdef123456/);
  }
});

// Answers each request with an error.
const REFUSES = `
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id } = JSON.parse(line);
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'no seat' } }));
  });
`;

verifies('L5', 'gives no routine output of npm as the reason', async () => {
  const { heddle } = project({ 'heddle.json': { mcpServers: { dying: dying('npm-notice-only.txt') } } });
  const { stderr } = await heddle(['call', 'dying.any']);
  expect(stderr).toContain('it exited with code 1. It printed nothing that says why.\n');
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
