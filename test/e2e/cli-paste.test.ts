import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { type Project, project } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const WIDE = { rows: 50, cols: 400 };
const EVERYTHING = '{"command":"node","args":["server.js"]}';
const servers = ({ folder }: Project, file = 'heddle.json') =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')).mcpServers;

verifies(
  'L1',
  'adds the servers of VS Code’s JSON on a terminal, and prints what each foreign key becomes',
  async () => {
    const here = project({ 'heddle.json': {} });
    const json = JSON.stringify({
      inputs: [{ type: 'promptString', id: 'pat', description: 'Access token', password: true }],
      servers: {
        issues: {
          type: 'streamable-http',
          url: 'https://mcp.example.com/mcp',
          headers: { Authorization: 'Bearer ${input:pat}', 'X-Key': 'sk-0123456789abcdef' },
          autoApprove: ['get_issue'],
        },
        files: { command: 'npx', args: ['-y', 'server-files'], disabled: true, timeout: 60 },
      },
    });
    const shown = await terminal(here, ['add', json], WIDE);
    expect(await shown.ended()).toBe(0);
    for (const line of [
      'The secret issues.X-Key is in the secret store.',
      '`issues`: `type: "streamable-http"` becomes `type: "http"`.',
      'its host asks for `pat` (Access token); Heddle reads it from the variable `PAT`. Set it.',
      '`files`: `timeout: 60` becomes `timeoutMs: 60000`, `disabled` becomes `enabled: false`.',
      'issues: the text lets get_issue run without a confirmation. That is not carried over.',
      `Added issues, files to ${join(here.folder, 'heddle.json')} (project).`,
    ]) {
      expect(shown.screen()).toContain(line);
    }
    expect(shown.screen().split('Added ')[0]).not.toContain('sk-0123456789abcdef');
    expect(servers(here)).toEqual({
      issues: {
        type: 'http',
        url: 'https://mcp.example.com/mcp',
        headers: { Authorization: 'Bearer ${PAT}', 'X-Key': '${secret:issues.X-Key}' },
      },
      files: { command: 'npx', args: ['-y', 'server-files'], enabled: false, timeoutMs: 60_000 },
    });
  },
);

verifies('L1', 'adds a README’s code block from stdin under another name, and nothing of a broken one', async () => {
  const here = project({ 'heddle.json': {} });
  const markdown = `Add this:\n\n\`\`\`json\n{ "mcpServers": { "github.com/a/demo": ${EVERYTHING} } }\n\`\`\`\n`;
  expect(await here.heddle(['add', '-'], { stdin: markdown })).toMatchObject({ code: 0 });
  expect(await here.heddle(['add', 'mine', '-'], { stdin: markdown })).toMatchObject({ code: 0 });
  expect(Object.keys(servers(here))).toEqual(['demo', 'mine']);

  const broken = markdown.replace('"args":', '"args"');
  const refused = await here.heddle(['add', 'third', '-'], { stdin: broken });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('Line 4, column');
  const half = `{ "servers": { "good": ${EVERYTHING}, "bad": { "url": "no address" } } }`;
  expect(await here.heddle(['add', half])).toMatchObject({ code: 3, stdout: '' });
  expect(Object.keys(servers(here))).toEqual(['demo', 'mine']);
});

verifies(
  'C12',
  'shows the change of a pasted text with --dry-run on a terminal, and names the shapes for another',
  async () => {
    const here = project({ 'heddle.json': {} });
    const dry = await terminal(here, ['add', '--dry-run', `"one": ${EVERYTHING}, "two": ${EVERYTHING},`]);
    expect(await dry.ended()).toBe(0);
    expect(dry.screen()).toContain('+    "one": {');
    expect(dry.screen()).toContain('+    "two": {');
    const other = await terminal(here, ['add', '{ "theme": { "name": "dark" } }'], WIDE);
    expect(await other.ended()).toBe(2);
    expect(other.screen()).toContain('`theme.name` (line 1, column 14) fits no shape that Heddle knows.');
    expect(other.screen()).toContain('`{ "context_servers": { … } }` (Zed)');
    expect(readFileSync(join(here.folder, 'heddle.json'), 'utf8')).toBe('{}');
  },
);

verifies('C12', 'names each of Heddle’s own fields in a pasted text that makes tools need no approval', async () => {
  const { heddle } = project({ 'heddle.json': {} });
  const fields = {
    trusted: true,
    permissions: { allowedTools: ['a'], deniedTools: ['b'], writePermission: 'allow', readPermission: 'ask' },
    tools: {
      a: { requiresApproval: false, riskLevel: 'low' },
      b: { readOnly: true, riskLevel: 'high' },
      c: { requiresApproval: true, readOnly: false, category: 'x' },
    },
  };
  const { code, stderr } = await heddle(['add', JSON.stringify({ demo: { command: 'node', ...fields } })]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr:
      'demo: `trusted`, `permissions.allowedTools`, `permissions.writePermission`, `tools.a.requiresApproval`, ' +
      '`tools.a.riskLevel`, `tools.b.readOnly` of the text let tools run without an approval. Check them.\n',
  });
});

verifies('C12', 'names the program and arguments that a pasted entry with a URL runs', async () => {
  const { heddle } = project({ 'heddle.json': {} });
  const entry = { url: 'https://mcp.example.com/mcp', headersHelper: ['sh', 'login.sh', '--token', 'hidden'] };
  const { code, stderr } = await heddle(['add', JSON.stringify({ demo: entry })]);
  expect([code, stderr]).toEqual([0, expect.stringContaining('at each connect: sh login.sh --token [REDACTED].')]);
});

verifies('C12', 'names a command that a pasted entry with a URL runs, before anything is connected', async () => {
  const { heddle } = project({ 'heddle.json': {} });
  const entry = { url: 'https://mcp.example.com/mcp', headersHelper: 'sh login.sh --token hidden' };
  const { code, stderr } = await heddle(['add', JSON.stringify({ demo: entry })]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr:
      'demo: `headersHelper` of the text runs a command on this machine at each connect: ' +
      'sh login.sh --token [REDACTED]. Check it.\n',
  });
});
