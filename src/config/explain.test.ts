import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json, JsonObject } from '../core/call.ts';
import type { Config } from './config.ts';
import type { Document } from './document.ts';
import { type ExplainRow, explain } from './explain.ts';
import { machineWith } from './fixtures.ts';
import { mergeConfig } from './merge.ts';
import { mergeSettings } from './merge-settings.ts';
import { valueAt } from './read/describe-issue.ts';
import { toLayer } from './read/layer.ts';
import { parseDocument } from './read/parse-document.ts';

const refreshed = Promise.resolve(false);
const TWO_FILES = {
  'project/heddle.json': `{
  // the project's own
  "mode": "strict",
  "mcpServers": {
    "github": { "command": "gh-mcp", "args": ["--token", "\${T}"],
      "env": { "GITHUB_TOKEN": "\${T}" } }
  }
}`,
  'user/.heddle/heddle.json': `{
  "mode": "open", "gateway": { "port": 8000 },
  "store": "postgres://me:hunter2@db/heddle",
  "mcpServers": {
    "github": { "command": "old" },
    "broken": { "comand": "x" },
    "remote": { "url": "https://h/mcp?api_key=k123&x=1", "headers": { "X-Any": "hush" } }
  }
}`,
};

async function twoFiles(): Promise<{ config: Config; line: (row: ExplainRow) => string }> {
  const machine = await machineWith(TWO_FILES);
  const where = (row: Partial<ExplainRow>): string =>
    row.file === undefined ? '' : ` ${row.file.slice(machine.folder.length + 1)}:${row.line}:${row.column}`;
  const line = (row: ExplainRow): string => {
    const shadows = row.shadowed.map((shadow) => ` < ${shadow.scope}${where(shadow)}`).join('');
    return `${row.key} = ${JSON.stringify(row.value)} (${row.scope}${where(row)})${shadows}`;
  };
  return { config: await machine.load({ env: { T: 't0psecret' } }), line };
}

verifies('C7', 'lists each value with its origin and shadowed origins, secrets redacted', async () => {
  const { config, line } = await twoFiles();
  const written = explain(config).filter(({ scope }) => scope !== 'default');
  expect(written.map(line)).toMatchInlineSnapshot(`
    [
      "mcpServers.github.command = "gh-mcp" (project project/heddle.json:5:17) < user user/.heddle/heddle.json:5:5",
      "mcpServers.github.args = ["--token","[REDACTED]"] (project project/heddle.json:5:38) < user user/.heddle/heddle.json:5:5",
      "mcpServers.github.env.GITHUB_TOKEN = "[REDACTED]" (project project/heddle.json:6:16) < user user/.heddle/heddle.json:5:5",
      "mcpServers.broken = null (user user/.heddle/heddle.json:6:5)",
      "mcpServers.remote.url = "https://h/mcp?api_key=[REDACTED]&x=1" (user user/.heddle/heddle.json:7:17)",
      "mcpServers.remote.headers.X-Any = "[REDACTED]" (user user/.heddle/heddle.json:7:71)",
      "mode = "strict" (project project/heddle.json:3:3) < user user/.heddle/heddle.json:2:3",
      "gateway.port = 8000 (user user/.heddle/heddle.json:2:32)",
      "store = "postgres://me:[REDACTED]@db/heddle" (user user/.heddle/heddle.json:3:3)",
    ]
  `);
});

verifies('C7', 'marks default values', async () => {
  const { config, line } = await twoFiles();
  expect(explain(config, 'gateway').map(line)).toMatchInlineSnapshot(`
    [
      "gateway.host = "127.0.0.1" (default)",
      "gateway.port = 8000 (user user/.heddle/heddle.json:2:32)",
      "gateway.publicUrl = null (default)",
      "gateway.allowedHosts = [] (default)",
      "gateway.allowedOrigins = [] (default)",
      "gateway.maxBodyBytes = 4194304 (default)",
      "gateway.unsent.connectionBytes = 33554432 (default)",
      "gateway.unsent.callerBytes = 67108864 (default)",
      "gateway.unsent.totalBytes = 268435456 (default)",
      "gateway.unsent.timeoutMs = 30000 (default)",
      "gateway.auth = null (default)",
      "gateway.apiKeys = [] (default)",
    ]
  `);
});

it('redacts every secret value', async () => {
  const { config } = await twoFiles();
  expect(JSON.stringify(explain(config))).not.toMatch(/t0psecret|hush|hunter2|k123/);
});

describe('a subject', () => {
  it.each([
    ['github.command', ['mcpServers.github.command']],
    ['mcpServers.github.env', ['mcpServers.github.env.GITHUB_TOKEN']],
    ['mode', ['mode']],
    ['limits.perCaller', ['limits.perCaller']],
    ['broken', ['mcpServers.broken']],
  ])('may be %s', async (subject, keys) => {
    const { config } = await twoFiles();
    expect(explain(config, subject).map(({ key }) => key)).toEqual(keys);
  });

  it('has a problem if it is an invalid server', async () => {
    const { config } = await twoFiles();
    expect(explain(config, 'broken')).toMatchObject([
      { value: null, line: 6, problem: { fix: 'Did you mean `command`?' } },
    ]);
  });

  it.each([
    ['githbu', 'Did you mean `github`?'],
    ['gateway.prot', 'Did you mean `gateway.port`?'],
    ['zzzzzz', 'Run `heddle config explain` to see all.'],
  ])('throws NAME_UNKNOWN for the unknown %s', async (subject, fix) => {
    const { config } = await twoFiles();
    expect(() => explain(config, subject)).toThrow(expect.objectContaining({ code: 'NAME_UNKNOWN', fix }));
  });
});

it('does not redact values because of the name of a tool or a server', async () => {
  const machine = await machineWith({
    'project/heddle.json': { mcpServers: { token: { command: 'x', tools: { get_token: { timeoutMs: 5 } } } } },
  });
  const [row] = explain(await machine.load(), 'token.tools');
  expect(row).toMatchObject({ key: 'mcpServers.token.tools.get_token.timeoutMs', value: 5 });
});

describe('for any two files', () => {
  const word = fc.stringMatching(/^[a-z]{1,6}$/);
  const rule = word.map((name) => `mcp__${name}`);
  const count = fc.integer({ min: 1, max: 3 });
  const optional = { requiredKeys: [] };
  const server = fc.oneof(
    fc.record(
      { command: word, args: fc.array(word), timeoutMs: fc.integer({ min: 1 }), description: word },
      { requiredKeys: ['command'] },
    ),
    fc.record(
      {
        url: word.map((host) => `http://${host}/`),
        permissions: fc.record({ deniedTools: fc.array(word) }, optional),
      },
      { requiredKeys: ['url'] },
    ),
    fc.constant({ comand: 'broken' }),
  );
  const file = fc.record(
    {
      mode: fc.constantFrom('guarded', 'strict', 'open', 'nonsense'),
      gateway: fc.record({ port: fc.integer({ min: 0, max: 70_000 }), host: word }, optional),
      permissions: fc.record({ deny: fc.array(rule), allow: fc.array(rule) }, optional),
      limits: fc.record({ perCaller: fc.record({ maxCalls: count, windowMs: count }) }, optional),
      mcpServers: fc.dictionary(fc.constantFrom('a', 'b', 'mode', 'gateway'), server),
    },
    optional,
  );

  function configOf(contents: readonly object[]): { config: Config; documents: readonly Document[] } {
    const documents = contents.map((content, index) => {
      const document = parseDocument(`/${index}.json`, JSON.stringify(content, null, index));
      if (!('root' in document)) throw new Error(document.message);
      return document;
    });
    const variables = { env: {}, workspaceFolder: '/', userHome: '/' };
    const layers = documents.map((document, index) =>
      toLayer(index === 0 ? 'project' : 'user', { document, foreign: false, variables, folder: '/' }),
    );
    return {
      config: mergeConfig({ projectFolder: '/', files: [], layers, problems: [], mergeSettings, refreshed }),
      documents,
    };
  }

  function effective({ servers, settings }: Config, key: string): Json {
    const [first, name = '', ...rest] = key.split('.');
    const value =
      first === 'mcpServers'
        ? valueAt((servers.get(name)?.entry ?? null) as unknown as Json, rest)
        : valueAt(settings as unknown as JsonObject, key.split('.'));
    return value ?? null;
  }

  function expectPlaced(row: ExplainRow, document: Document): void {
    const path = row.key.split('.');
    const written = valueAt(document.root, path);
    const unreadable = written === 'nonsense';
    // Permissions are united: those of the first file are among those in force.
    if (path[0] === 'permissions') expect(row.value).toEqual(expect.arrayContaining(written as string[]));
    else expect(row.value).toEqual(unreadable ? 'strict' : written);
    const location = { file: row.file, line: row.line, column: row.column };
    expect(location).toEqual(document.locate(path, unreadable ? 'value' : 'name'));
  }

  verifies('C7', 'shows the value in force and the location of one of its origins', () => {
    fc.assert(
      fc.property(file, file, (project, user) => {
        const { config, documents } = configOf([project, user]);
        const rows = explain(config);
        expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
        for (const row of rows) {
          expect(row.value).toEqual(effective(config, row.key));
          expect(row.file === undefined).toBe(row.scope === 'default');
          const document = documents.find((candidate) => candidate.file === row.file);
          if (document !== undefined && row.problem === undefined) expectPlaced(row, document);
        }
      }),
      { seed: 7433, numRuns: 200 },
    );
  });
});
