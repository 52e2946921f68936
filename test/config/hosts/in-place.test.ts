import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { hostFile, importFixture, write } from '../../../src/config/hosts/fixtures.ts';
import { HOSTS, type HostName } from '../../../src/config/hosts/hosts.ts';
import { verifies } from '../../requirements.ts';

const FILES: readonly (readonly [HostName, string])[] = [
  ['claude-code', 'mcp.json'],
  ['claude-desktop', 'claude_desktop_config.json'],
  ['cursor', 'mcp.json'],
  ['vscode', 'mcp.json'],
  ['windsurf', 'mcp_config.json'],
  ['gemini', 'settings.json'],
  ['codex', 'config.toml'],
  ['opencode', 'opencode.jsonc'],
  ['opencode', 'opencode-servers.json'],
];

verifies('C12', 'keeps comments, order, other servers and other settings of JSON', () => {
  const before = `// mine
{
\t"theme": "dark", // the best
\t"context_servers": {
\t\t// notes
\t\t"x": {
\t\t\t"command": "old", // was new once
\t\t\t"env": {
\t\t\t\t"A": "1", // one
\t\t\t\t"B": "2"
\t\t\t},
\t\t\t"settings": { "deep": true }
\t\t},
\t\t"y": { "command": "other" },
\t},
}
`;
  const { text, back } = write('zed', { command: 'new', env: { A: '3', C: '4' } }, before);
  expect(text).toBe(`// mine
{
\t"theme": "dark", // the best
\t"context_servers": {
\t\t// notes
\t\t"x": {
\t\t\t"command": "new", // was new once
\t\t\t"env": {
\t\t\t\t"A": "3", // one
\t\t\t\t"C": "4"
\t\t\t},
\t\t\t"settings": { "deep": true },
\t\t\t"source": "custom"
\t\t},
\t\t"y": { "command": "other" },
\t},
}
`);
  expect(back).toEqual({ command: 'new', env: { A: '3', C: '4' } });
});

verifies('C12', 'keeps comments, order, other tables and dotted keys of TOML', () => {
  const before = `# mine
model = "m" # the best

[mcp_servers.x] # notes
command = "old" # was new once
args = [
  "a", # first
]
startup_timeout_sec = 9
[mcp_servers.x.env]
A = "1" # one
B = "2"

[mcp_servers.y]
command = 'other'

[profiles.p]
model = "n"
`;
  const ours = {
    command: 'new',
    args: ['a'],
    env: { A: '3', C: '4', TOKEN: '${TOKEN}' },
    connectTimeoutMs: 9000,
    timeoutMs: 2500,
  };
  const { text, back } = write('codex', ours, before);
  expect(text).toBe(`# mine
model = "m" # the best

[mcp_servers.x] # notes
command = "new" # was new once
args = [
  "a", # first
]
startup_timeout_sec = 9
tool_timeout_sec = 2.5
env_vars = ["TOKEN"]
[mcp_servers.x.env]
A = "3" # one
C = "4"

[mcp_servers.y]
command = 'other'

[profiles.p]
model = "n"
`);
  expect(back).toEqual(ours);
});

it.each([
  ['an inline table', 'mcp_servers = { x = { command = "old", extra = 1 } }\n'],
  ['inline tables by name', '[mcp_servers]\nx = { command = "old", env = { A = "1" }, extra = 1 }\n'],
  ['dotted keys', 'mcp_servers.x.command = "old"\nmcp_servers.x.extra = 1\nmcp_servers.x.env.A = "1"\n'],
  ['quoted names', '[ "mcp_servers" . \'x\' ]\n"command" = """\nold"""\nextra = 1\n'],
  ['multi-line strings that end in quotes', '[mcp_servers.x]\nnote = """say "hi""""\ncommand = "old"\nextra = 1\n'],
  ['lists of tables around it', '[[a]]\nb = 1\n[[a]]\nb = 2\n[mcp_servers.x]\ncommand = "old" # [x]\nextra = 1\n'],
  ['Windows line ends', '[mcp_servers.x]\r\ncommand = "old"\r\nextra = 1\r\n'],
])('edits TOML with %s', (_, before) => {
  const ours = { command: 'new', args: ['a', "it's"], env: { B: '2' } };
  const { text, back, problems } = write('codex', ours, before);
  expect(problems).toEqual([]);
  expect(back).toEqual(ours);
  expect(JSON.stringify(parse(text))).toContain('"extra":1');
  expect(text.includes('\r\n')).toBe(before.includes('\r\n'));
});

it.each(FILES)('%s, %s: an export after an import changes nothing', (host, file) => {
  const before = hostFile(host, file);
  const { servers } = importFixture(host, file);
  // Settings with default values are neither removed nor added.
  const { text, problems } = HOSTS[host].to(servers, before, { file });
  expect(problems).toEqual([]);
  expect(HOSTS[host].from(text, { file }).servers).toEqual(servers);
});

it('keeps the host’s value of a field that cannot be translated', () => {
  const before = '{ "mcpServers": { "x": { "command": "run", "env": { "TOKEN": "kept", "OLD": "gone" } } } }';
  const { text, notes } = write('claude-desktop', { command: 'run', env: { TOKEN: '${secret:x}' } }, before);
  expect(JSON.parse(text)).toEqual({ mcpServers: { x: { command: 'run', env: { TOKEN: 'kept' } } } });
  expect(notes.join()).toContain('`env.TOKEN` cannot be carried over');
});

it('exports a server that the import renamed under its old name', () => {
  const { text } = HOSTS.cursor.to(
    { 'My-Notes': { command: 'new' } },
    '{ "mcpServers": { "My Notes": { "command": "old" } } }',
    {
      file: 'file',
    },
  );
  expect(JSON.parse(text)).toEqual({ mcpServers: { 'My Notes': { command: 'new' } } });
});

describe('a disabled server', () => {
  const off = { command: 'run', enabled: false };
  it('is added to `mcp.excluded` of Gemini CLI, and removed when it is enabled', () => {
    const { text } = write('gemini', off, '{ "mcp": { "allowed": ["x"] } }');
    expect(JSON.parse(text).mcp).toEqual({ allowed: ['x'], excluded: ['x'] });
    expect(JSON.parse(write('gemini', { command: 'run' }, text).text).mcp).toEqual({ allowed: ['x'], excluded: [] });
  });
  it('is added to `mcp.allowed` of Gemini CLI when it is enabled', () => {
    const { text, back } = write('gemini', { command: 'run' }, '{ "mcp": { "allowed": ["other"] } }');
    expect(JSON.parse(text).mcp.allowed).toEqual(['other', 'x']);
    expect(back).toEqual({ command: 'run' });
  });
  it('has `disabled: true` for Windsurf and `enabled: false` for the others', () => {
    expect(JSON.parse(write('windsurf', off).text).mcpServers.x).toEqual({ command: 'run', disabled: true });
    expect(JSON.parse(write('opencode', off).text).mcp.x).toEqual({ type: 'local', command: ['run'], enabled: false });
    expect(write('codex', off).text).toBe('[mcp_servers.x]\ncommand = "run"\nenabled = false\n');
  });
});

it('writes addresses in each host’s format', () => {
  const sse = { type: 'sse', url: 'https://x.example/sse' };
  const http = { url: 'https://x.example/mcp' };
  const entry = (host: HostName, ours: object) => JSON.parse(write(host, { ...ours }).text);
  expect(entry('vscode', http).servers.x).toEqual({ type: 'http', ...http });
  expect(entry('windsurf', http).mcpServers.x).toEqual({ serverUrl: http.url });
  expect(entry('gemini', http).mcpServers.x).toEqual({ httpUrl: http.url });
  expect(entry('gemini', sse).mcpServers.x).toEqual({ url: sse.url });
  expect(entry('claude-code', http).mcpServers.x).toEqual({ type: 'http', ...http });
  expect(entry('opencode', http).mcp.x).toEqual({ type: 'remote', ...http });
  expect(write('claude-desktop', http).notes.join()).toContain(
    'left out: Claude Desktop has no servers of `type` `http`',
  );
  expect(write('windsurf', sse).notes.join()).toContain('`type` is left out');
});

it.each(FILES)('%s, %s: redacts secrets and keeps names', (host, file) => {
  const shown = HOSTS[host].redacted(hostFile(host, file));
  expect(shown).not.toMatch(/k-12345|Bearer abc/);
  expect(shown).toContain('memory');
});

it('redacts secrets under the hosts’ own names', () => {
  const secrets = {
    opencode: { environment: { DB_PASSWORD: 'abc' } },
    registry: { environmentVariables: [{ name: 'DB_PASSWORD', value: 'abc' }] },
  };
  for (const [host, entry] of Object.entries(secrets)) {
    const shown = HOSTS[host as HostName].redacted(`{ // mine\n "x": ${JSON.stringify(entry)} }`);
    expect(shown).not.toContain('abc');
    expect(shown).toContain('// mine');
  }
});

it('keeps comments in redacted TOML', () => {
  const shown = HOSTS.codex.redacted(
    '# mine\n[mcp_servers.x]\nargs = ["--token", "abc"] # how\nenv = { API_KEY = "abc", A = "b" }\n',
  );
  expect(shown).toBe(
    '# mine\n[mcp_servers.x]\nargs = ["--token", "[REDACTED]"] # how\nenv = { API_KEY = "[REDACTED]", A = "b" }\n',
  );
});
