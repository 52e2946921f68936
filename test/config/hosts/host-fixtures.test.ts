import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkEntry } from '../../../src/config/edit/check-entry.ts';
import { emptyFile, withServer } from '../../../src/config/edit/edit-servers.ts';
import { importFixture, MEMORY } from '../../../src/config/hosts/fixtures.ts';
import type { HostName } from '../../../src/config/hosts/hosts.ts';
import { openHeddle } from '../../../src/open-heddle.ts';
import { verifies } from '../../requirements.ts';

const memory = { command: 'node', args: [MEMORY] };
const remote = { type: 'http', url: 'https://mcp.example.com/mcp' };

const EXPECTED: readonly (readonly [HostName, string, object])[] = [
  [
    'claude-code',
    'mcp.json',
    {
      memory: { ...memory, env: { MEMORY_FILE_PATH: '${MEMORY_FILE:-memory.jsonl}' } },
      github: {
        type: 'http',
        url: 'https://mcp.example.com/${REGION:-eu}/mcp',
        headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' },
        oauth: { clientId: 'abc', callbackPort: 8085, scopes: ['read', 'write'], xaa: true },
      },
      events: { type: 'sse', url: 'https://events.example.com/sse' },
      tickets: { type: 'ws', url: 'wss://tickets.example.com/mcp' },
    },
  ],
  ['claude-code', 'claude.json', { memory }],
  [
    'claude-desktop',
    'claude_desktop_config.json',
    {
      memory,
      'My-Notes-old': {
        command: 'uvx',
        args: ['notes-server', '--title', '$${not a variable}'],
        env: { NOTES_API_KEY: 'k-12345' },
      },
    },
  ],
  [
    'cursor',
    'mcp.json',
    {
      memory: { ...memory, env: { MEMORY_FILE_PATH: '${workspaceFolder}/memory.jsonl' } },
      linear: {
        type: 'http',
        url: 'https://mcp.example.com/${TEAM}',
        headers: { 'X-Key': '${LINEAR_KEY}' },
        oauth: { clientId: 'abc', clientSecret: '${SECRET}', scopes: ['read'] },
      },
    },
  ],
  [
    'vscode',
    'mcp.json',
    {
      memory: { ...memory, env: { API_KEY: '${API_KEY}', LEVEL: '3' } },
      remote: { ...remote, headers: { 'X-Key': '${API_KEY}' }, oauth: { clientId: 'abc' } },
      old: { type: 'sse', url: 'https://mcp.example.com/sse' },
    },
  ],
  [
    'windsurf',
    'mcp_config.json',
    {
      memory: { ...memory, env: { TOKEN: '${MEMORY_TOKEN}' }, permissions: { deniedTools: ['delete_entities'] } },
      figma: { ...remote, headers: { 'X-Key': '${KEY}' }, enabled: false },
      file: remote,
    },
  ],
  [
    'zed',
    'settings.json',
    {
      memory: { ...memory, enabled: true },
      older: { command: 'node', args: ['server.js'], env: { A: '1' } },
      remote: { ...remote, headers: { Authorization: 'Bearer abc' }, enabled: false },
    },
  ],
  [
    'gemini',
    'settings.json',
    {
      memory: {
        ...memory,
        env: { TOKEN: '${MEMORY_TOKEN}', HOST: '${HOST_NAME}' },
        cwd: './',
        timeoutMs: 30_000,
        description: 'What we know',
        permissions: { allowedTools: ['read_graph', 'search_nodes'], deniedTools: ['delete_entities'] },
      },
      stream: { ...remote, headers: { Authorization: 'Bearer ${TOKEN}' } },
      events: { type: 'sse', url: 'https://mcp.example.com/sse' },
      paused: { command: 'paused-server', enabled: false },
    },
  ],
  [
    'codex',
    'config.toml',
    {
      memory: {
        ...memory,
        env: { LEVEL: 'debug $${x}', MEMORY_TOKEN: '${MEMORY_TOKEN}' },
        connectTimeoutMs: 20_000,
        timeoutMs: 1500,
        permissions: { allowedTools: ['read_graph'], deniedTools: ['delete_entities'] },
      },
      'docs-site': {
        ...remote,
        headers: { 'X-Region': 'eu', 'X-Key': '${DOCS_KEY}', Authorization: 'Bearer ${DOCS_TOKEN}' },
        enabled: false,
      },
      linear: { ...remote, oauth: { clientId: 'abc', scopes: ['read', 'write'] } },
    },
  ],
  [
    'opencode',
    'opencode.jsonc',
    {
      memory: { ...memory, env: { TOKEN: '${MEMORY_TOKEN}' }, enabled: true },
      remote: {
        ...remote,
        headers: { Authorization: 'Bearer ${KEY}' },
        enabled: false,
        oauth: { clientId: 'abc', scopes: ['read', 'write'] },
      },
    },
  ],
  [
    'opencode',
    'opencode-servers.json',
    {
      memory: { ...memory, cwd: expect.any(String), enabled: true, connectTimeoutMs: 10_000, timeoutMs: 2000 },
      remote: { ...remote, oauth: { clientId: 'abc' } },
    },
  ],
  [
    'registry',
    'server.json',
    {
      memory: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-memory@2026.8.31', '--region', '${REGION}', '${FOLDER:-data}'],
        env: { MEMORY_TOKEN: '${MEMORY_TOKEN}', MEMORY_LEVEL: '${MEMORY_LEVEL:-info}' },
        description: 'Remembers things',
      },
    },
  ],
  [
    'registry',
    'image.json',
    {
      tickets: {
        command: 'docker',
        args: ['run', '-i', '--rm', '-e', 'KEY', '--network', 'none', 'ghcr.io/example/tickets:1.2.3'],
        env: { KEY: '${KEY}' },
      },
    },
  ],
  [
    'registry',
    'remote.json',
    {
      remote: {
        type: 'sse',
        url: 'https://${TENANT_ID}.example.com/sse',
        headers: { 'X-Api-Key': '${X_API_KEY}' },
        description: 'Far away',
      },
    },
  ],
];

describe.each(EXPECTED)('%s, %s', (host, file, expected) => {
  verifies('C12', 'is imported to entries that Heddle’s schema accepts', () => {
    const { servers, problems } = importFixture(host, file);
    expect(problems).toEqual([]);
    expect(servers).toEqual(expected);
    for (const [name, entry] of Object.entries(servers)) {
      expect(checkEntry(name, entry, { foreign: false, env: {} }).problems).toEqual([]);
    }
  });
});

/** The fixtures that start a program of this repository and download nothing. */
const STARTING = EXPECTED.filter(([host]) => host !== 'registry');

describe.each(STARTING)('%s, %s', (host, file) => {
  verifies('C12', 'has a server that connects after the import', async () => {
    const home = await mkdtemp(join(tmpdir(), 'heddle-import-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const { memory: entry } = importFixture(host, file).servers;
    if (entry === undefined) throw new Error('no memory server');
    // Written into the user's file, as by `heddle import --write`.
    await writeFile(join(home, 'heddle.json'), withServer(emptyFile(), 'memory', entry));
    const set = { MEMORY_TOKEN: 't', HOST_NAME: 'h', API_KEY: 'k' };
    const heddle = await openHeddle({ cwd: home, env: { ...process.env, ...set, HEDDLE_HOME: home } });
    onTestFinished(() => heddle.close());
    const by = { id: 'local:test', roles: ['owner'], via: 'cli' } as const;
    const status = await heddle.servers.connect(by, 'memory', AbortSignal.timeout(60_000));
    expect(status).toMatchObject({ name: 'memory', state: 'connected' });
  });
});

describe('the notes of an import', () => {
  const notesOf = (host: HostName, file: string) => importFixture(host, file).notes.join('\n');

  it('name trust settings, which are not imported', () => {
    expect(notesOf('gemini', 'settings.json')).toMatch(/`memory`: `trust` is left out: .*skips approvals/);
    expect(importFixture('gemini', 'settings.json').servers.memory).not.toHaveProperty('trusted');
    expect(notesOf('windsurf', 'mcp_config.json')).toMatch(/`alwaysAllow` is left out/);
  });

  it('name the variables that replace inputs', () => {
    expect(notesOf('vscode', 'mcp.json')).toContain('asks for `api-key`; Heddle reads it from the variable `API_KEY`');
  });

  it('name references that only the host has, and servers that need them', () => {
    expect(notesOf('cursor', 'mcp.json')).toMatch(
      /`here`: .*workspaceFolderBasename.*\n`here`: The server is left out/,
    );
    expect(notesOf('vscode', 'mcp.json')).toContain('${config:workbench.colorTheme}');
    expect(notesOf('windsurf', 'mcp_config.json')).toContain('${file:/run/key}');
    expect(notesOf('opencode', 'opencode.jsonc')).toContain('{file:./key}');
  });

  it('name files of variables and servers of extensions, which are not imported', () => {
    expect(notesOf('cursor', 'mcp.json')).toContain('`envFile` is left out');
    expect(notesOf('zed', 'settings.json')).toMatch(/`from-extension`: It is left out: .*extension/);
  });

  it('warn that the listed tools run without an approval', () => {
    expect(notesOf('gemini', 'settings.json')).toMatch(/`includeTools`: these tools run without an approval/);
    expect(notesOf('codex', 'config.toml')).toMatch(/`enabled_tools`: these tools run without an approval/);
  });

  it('name the package or address chosen from a server.json, and the variables to set', () => {
    const notes = notesOf('registry', 'server.json');
    expect(notes).toContain('`packages[0]` is skipped: Heddle cannot run packages of the kind `nuget`');
    expect(notes).toContain('`packages[1]` (npm @modelcontextprotocol/server-memory) is used');
    expect(notes).toContain('`MEMORY_TOKEN` is read from the variable `MEMORY_TOKEN`, a secret');
    expect(notesOf('registry', 'remote.json')).toContain('`remotes[1]` is used');
  });

  it('name Heddle’s own entry, which is not imported', () => {
    expect(notesOf('claude-code', 'mcp.json')).toContain('`heddle`: It is left out: the name is reserved');
  });
});
