import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { deskWith } from './fixtures.ts';

verifies('T2', 'shows untrusted servers as such, and the transport of an entry that lacks a variable', async () => {
  const wiki = { type: 'http', url: 'https://wiki.example/mcp', headers: { Authorization: '${NOT_SET_ANYWHERE}' } };
  const bare = { url: 'https://wiki.example/${NOT_SET_ANYWHERE}' };
  const mcpServers = { wiki, bare, demo: { command: 'no-such-program' } };
  const { heddle } = await deskWith({ 'project/heddle.json': { mcpServers } });
  const rows = (await heddle(['list', 'servers'])).stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
  expect(rows).toContainEqual(['wiki', 'failed', 'http', 'project', '?']);
  expect(rows).toContainEqual(['bare', 'failed', 'http', 'project', '?']);
  expect(rows).toContainEqual(['demo', 'untrusted', 'stdio', 'project', '?']);
  const [first] = JSON.parse((await heddle(['list', 'servers', '--json'])).stdout).filter(
    ({ name }: { name: string }) => name === 'demo',
  );
  expect(first).toMatchObject({
    state: 'failed',
    code: 'SERVER_UNTRUSTED',
    reason: expect.stringContaining('untrusted'),
  });
  expect((await heddle(['list', 'tools'])).stderr).toContain('demo untrusted: demo is untrusted');
  expect((await heddle([])).stdout).toContain('demo (project, untrusted)');
});

verifies('C10', 'prints a list and a notice when a broken file may have had more entries', async () => {
  const { heddle, path } = await deskWith({
    'project/heddle.json': '{ "mcpServers": { "x": { "command": "node" } "y": 1 } }',
  });
  const { code, stdout, stderr } = await heddle(['list', 'tools']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('mcp__filesystem__fs_read_file')]);
  expect(stderr).toMatch(/^config error: .*heddle\.json:1:\d+: .*is not valid JSON/);
  expect(stderr).toContain(`Entries of ${path('project/heddle.json')} may be missing here: the file has an error.\n`);
});

verifies('L5', '`list workflows` does not say that there is no workflow when one is untrusted', async () => {
  const { heddle } = await deskWith({ 'project/.heddle/workflows/flow.yaml': 'heddle: 1\nsteps: []\n' });
  const { stderr } = await heddle(['list', 'workflows']);
  expect(stderr).toContain('untrusted');
  expect(stderr).not.toContain('There is no workflow');
  const empty = await deskWith();
  expect((await empty.heddle(['list', 'workflows'])).stderr).toContain('There is no workflow. Put one in');
});
