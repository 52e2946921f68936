import { describe, expect, it } from 'vitest';
import { read, write } from '../../../src/config/hosts/fixtures.ts';
import { HOST_NAMES, HOSTS, type HostName } from '../../../src/config/hosts/hosts.ts';
import { verifies } from '../../requirements.ts';

const KEYS: Readonly<Record<Exclude<HostName, 'registry' | 'codex'>, string>> = {
  'claude-code': 'mcpServers',
  'claude-desktop': 'mcpServers',
  cursor: 'mcpServers',
  vscode: 'servers',
  windsurf: 'mcpServers',
  zed: 'context_servers',
  gemini: 'mcpServers',
  opencode: 'mcp',
};

describe.each(Object.entries(KEYS) as [HostName, string][])('%s', (host, key) => {
  verifies('C12', 'reports the line and column of a JSON syntax error', () => {
    const { servers, problems } = read(host, `{\n  "${key}": {\n    "a" 1\n  }\n}`);
    expect(servers).toEqual({});
    expect(problems).toMatchObject([{ level: 'error', code: 'CONFIG_INVALID', at: { line: 3, column: 9 } }]);
  });

  it('has no servers if the key is missing or empty', () => {
    expect(read(host, {})).toEqual({ servers: {}, notes: [], problems: [] });
    expect(read(host, { [key]: {} })).toEqual({ servers: {}, notes: [], problems: [] });
  });

  it.each([[[]], ['x'], [7], [null], [true]])('rejects %j instead of the servers', (value) => {
    const { problems } = read(host, { [key]: value });
    expect(problems).toMatchObject([{ message: expect.stringContaining(`\`${key}\``), at: { line: 2 } }]);
  });

  verifies('C12', 'imports the other servers beside an invalid one', () => {
    const command = host === 'opencode' ? ['run'] : 'run';
    const good = { command, ...(host === 'opencode' && { type: 'local' }) };
    const { servers, problems } = read(host, {
      [key]: { none: {}, text: 'x', number: { command: 7 }, env: { ...good, env: 1, environment: 1 }, good },
    });
    expect(Object.keys(servers)).toEqual(['good']);
    expect(problems.map(({ server, at }) => [server, (at?.line ?? 0) > 2])).toEqual([
      ['none', true],
      ['text', true],
      ['number', true],
      ['env', true],
    ]);
  });

  it('does not edit an invalid file, or one with another value instead of the servers', () => {
    for (const text of ['{ "a": ', `{ "${key}": [] }`]) {
      const { text: after, problems } = write(host, { command: 'run' }, text);
      expect(after).toBe(text);
      expect(problems).toMatchObject([{ level: 'error' }]);
    }
  });
});

describe('codex', () => {
  verifies('C12', 'reports the line of a TOML syntax error', () => {
    const { problems } = read('codex', '[mcp_servers.a]\ncommand = "x\n');
    expect(problems).toMatchObject([{ message: expect.stringContaining('not valid TOML'), at: { line: 2 } }]);
    expect(problems[0]?.at?.column).toBeGreaterThan(10);
  });

  it('reports the line of a value with the wrong type', () => {
    const { servers, problems } = read(
      'codex',
      '[mcp_servers.a]\ncommand = "x"\nargs = 3\n\n[mcp_servers.b]\nurl = "https://x.example"\nbearer_token_env_var = "no name"\n' +
        '\n[mcp_servers.c]\nenabled = true\n\n[mcp_servers.d]\ncommand = "x"\nenv_vars = "A"\n',
    );
    expect(servers).toEqual({});
    expect(problems.map(({ message, at }) => [message, at?.line])).toEqual([
      ['`a`: `args` must be an array of strings.', 3],
      ['`b`: `bearer_token_env_var` must be the name of a variable.', 7],
      ['`c`: There is neither `command` nor `url`.', 9],
      ['`d`: `env_vars` must be an array of names of variables.', 14],
    ]);
  });

  it('does not edit an invalid file', () => {
    expect(write('codex', { command: 'x' }, 'a = \n')).toMatchObject({
      text: 'a = \n',
      problems: [{ level: 'error' }],
    });
    expect(write('codex', { command: 'x' }, 'mcp_servers = 1\n').problems).toHaveLength(1);
  });
});

describe('registry', () => {
  it.each([
    ['no name', { packages: [] }, '`name`'],
    ['nothing to run', { name: 'a/b', packages: [{ registryType: 'mcpb', identifier: 'x' }] }, 'neither a package nor'],
    ['packages that are none', { name: 'a/b', packages: 'x', remotes: { a: 1 } }, 'neither a package nor'],
    ['a remote without an address', { name: 'a/b', remotes: [{ type: 'sse' }] }, 'neither a package nor'],
    ['an address that is none', { name: 'a/b', remotes: [{ type: 'sse', url: 'x y' }] }, 'not a URL'],
  ])('rejects a file with %s', (_, value, message) => {
    const { servers, problems } = read('registry', value);
    expect(servers).toEqual({});
    expect(problems).toMatchObject([{ level: 'error', message: expect.stringContaining(message) }]);
  });

  it('rejects an export of two servers', () => {
    const two = { a: { command: 'x' }, b: { command: 'y' } };
    expect(HOSTS.registry.to(two, undefined, { file: 'file' }).problems).toMatchObject([
      { message: expect.stringContaining('there are 2') },
    ]);
  });

  it('skips packages without the stdio transport', () => {
    const one = {
      registryType: 'npm',
      identifier: 'x',
      transport: { type: 'streamable-http', url: 'http://localhost' },
    };
    const { notes } = read('registry', { name: 'a/b', packages: [one] });
    expect(notes.join()).toContain('its transport is not stdio');
  });
});

it.each(HOST_NAMES)('%s never throws for any text', (host) => {
  for (const text of [
    '',
    ' ',
    '[]',
    'null',
    '{"a":{"b":{}}}',
    '\uFEFF{}',
    '[[[[',
    'a = 1',
    '{"__proto__":{"a":1}}',
    '\0',
  ]) {
    expect(() => read(host, text)).not.toThrow();
    expect(() => HOSTS[host].to({ x: { command: 'run' } }, text, { file: 'file' })).not.toThrow();
  }
});

it('ignores reserved and dangerous server names', () => {
  const { servers, problems } = read(
    'cursor',
    '{ "mcpServers": { "__proto__": { "command": "x" }, "a": { "command": "x" } } }',
  );
  expect(Object.keys(servers)).toEqual(['a']);
  expect(problems).toHaveLength(1);
  expect(({} as Record<string, unknown>).command).toBeUndefined();
});
