import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { project, SERVERS } from './heddle-command.ts';

const object = { type: 'object' };
const LISTS = {
  tools: [
    { name: 'read', description: 'Reads a page.\nAnd says so.', inputSchema: object, annotations: { title: 'Read' } },
    { name: 'write', description: `${'Writes. '.repeat(400)}The end.`, inputSchema: object },
  ],
  resources: [{ uri: 'page://one', name: 'one', mimeType: 'text/plain', size: 7, description: 'The first page.' }],
  templates: [{ uriTemplate: 'page://{id}', name: 'any', description: 'Any page.' }],
  prompts: [
    {
      name: 'sum-up',
      description: 'Sums a page up.',
      arguments: [{ name: 'page', required: true, description: 'Which one.' }, { name: 'tone' }],
    },
  ],
};
const serving = (lists: object) => ({
  command: process.execPath,
  args: [join(SERVERS, 'listing-server.mjs'), JSON.stringify(lists)],
});
const wiki = { ...serving(LISTS), category: 'notes', tools: { write: { category: 'danger' } } };
const CONFIG = { 'heddle.json': { mcpServers: { wiki } } };

/** Splits a printed table into cells at two or more spaces. */
const rowsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));

verifies('L5', 'describe of an unknown name speaks of no server that was not needed', async () => {
  const { heddle } = project(CONFIG);
  const { code, stderr } = await heddle(['describe', 'wiki.raed']);
  expect(code).toBe(2);
  expect(stderr).toContain('Did you mean');
  expect(stderr).not.toContain('--no-wait');
});

describe('list', () => {
  verifies('L2', 'shows the tools of a server that is in no file, by its command or its URL', async () => {
    const { heddle } = project({});
    const { command, args } = serving(LISTS);
    const listed = await heddle(['list', 'tools', '--', command, ...args]);
    expect(rowsOf(listed.stdout).map(([name]) => name)).toEqual([
      'TOOL',
      'mcp__listing-server__read',
      'mcp__listing-server__write',
    ]);
    const closed = await heddle(['list', 'tools', 'http://127.0.0.1:9/mcp']);
    expect(closed).toMatchObject({ code: 8, stdout: '' });
    expect(closed.stderr).toContain('nothing listens on 127.0.0.1:9');
    expect(closed.stderr).not.toContain('`url`');
    const wrong = await heddle(['list', 'tools', 'wiki']);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('--server wiki');
  });

  verifies('L1', 'shows the entries of one server, of each kind, as text and as JSON', async () => {
    const { heddle } = project(CONFIG);
    const list = async (...args: string[]) => rowsOf((await heddle(['list', ...args, '--server', 'wiki'])).stdout);
    const [head, ...tools] = await list('tools');
    expect(head).toEqual(['TOOL', 'CATEGORY', 'DESCRIPTION']);
    expect(tools.map((row) => row.slice(0, 2))).toEqual([
      ['mcp__wiki__read', 'notes'],
      ['mcp__wiki__write', 'danger'],
    ]);
    expect(tools[0]?.[2]).toBe('Reads a page. And says so.');
    expect(await list('resources')).toEqual([
      ['RESOURCE', 'NAME', 'TYPE', 'SERVER', 'CATEGORY', 'DESCRIPTION'],
      ['page://one', 'one', 'text/plain', 'wiki', 'notes', 'The first page.'],
    ]);
    expect(await list('templates')).toEqual([
      ['TEMPLATE', 'NAME', 'SERVER', 'CATEGORY', 'DESCRIPTION'],
      ['page://{id}', 'any', 'wiki', 'notes', 'Any page.'],
    ]);
    expect(await list('prompts')).toEqual([
      ['PROMPT', 'ARGUMENTS', 'CATEGORY', 'DESCRIPTION'],
      ['mcp__wiki__sum-up', 'page [tone]', 'notes', 'Sums a page up.'],
    ]);
    const json = await heddle(['list', 'prompts', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject([
      { name: 'mcp__wiki__sum-up', kind: 'prompt', servers: ['wiki'], arguments: [{ name: 'page' }, { name: 'tone' }] },
    ]);
  });

  verifies('R6', 'shows the categories, and the tools of one', async () => {
    const { heddle } = project(CONFIG);
    expect(rowsOf((await heddle(['list', 'categories'])).stdout)).toEqual([
      ['CATEGORY', 'TOOLS', 'SERVERS'],
      ['danger', '1', 'wiki'],
      ['filesystem', '5', 'filesystem'],
      ['notes', '1', 'wiki'],
    ]);
    const found = await heddle(['list', 'tools', '--category', 'danger', '--json']);
    expect(JSON.parse(found.stdout)).toMatchObject([{ name: 'mcp__wiki__write', facts: { category: 'danger' } }]);
  });

  verifies('R1', 'has the columns INVALID and FLAGS if some tool has a value', async () => {
    const broken = serving({ tools: [{ name: 'read', inputSchema: 7 }, { name: 'reacl' }, { name: 'reacI' }] });
    const { heddle } = project({ 'heddle.json': { mcpServers: { broken } } });
    const [head, ...rows] = rowsOf((await heddle(['list', 'tools', '--server', 'broken'])).stdout);
    expect(head).toEqual(['TOOL', 'FLAGS', 'INVALID', 'DESCRIPTION']);
    expect(rows).toContainEqual(['mcp__broken__read', 'its input schema is not an object']);
    expect(rows).toContainEqual(['mcp__broken__reacl', 'looks-like: mcp__broken__reacI']);
  });

  it('L3: reports an empty list and failed servers on stderr', async () => {
    const { heddle } = project({ 'heddle.json': { mcpServers: { gone: { command: 'no-such-program' } } } });
    const ran = await heddle(['list', 'prompts']);
    expect([ran.code, ran.stdout]).toEqual([0, '']);
    expect(ran.stderr).toMatch(/^There are no prompts\.\ngone failed: /);
  });
});

describe('describe', () => {
  verifies('R8', 'shows description, version, facts and schema of a tool', async () => {
    const { heddle } = project(CONFIG);
    const { stdout } = await heddle(['describe', 'wiki.write']);
    expect(stdout).toContain('Writes. The end.');
    expect(stdout).toMatch(/\ncategory danger, risk medium, open world\nserver {3}wiki\nversion {2}[0-9a-f]{64}\n/);
    expect(stdout).toContain('input    {\n  "type": "object"\n}');
  });

  verifies('T3', 'starts no server whose definitions are stored, with and without a gateway', async () => {
    const starts = join(await temporaryFolder(), 'starts');
    const args = ['-c', 'printf x >> "$0"; exec "$@"', starts, wiki.command, ...wiki.args];
    const { heddle, up } = project({ 'heddle.json': { mcpServers: { wiki: { command: '/bin/sh', args } } } });
    const described = async () => {
      const names = ['wiki.write', 'sum-up', 'page://two'];
      const ran = await Promise.all(names.map((name) => heddle(['describe', name])));
      return ran.map(({ code, stdout }) => [code, stdout.split('\n')[0]]);
    };
    const expected = [
      [0, 'mcp__wiki__write'],
      [0, 'mcp__wiki__sum-up'],
      [0, 'page://two'],
    ];
    await heddle(['list', 'tools']);
    expect(await described()).toEqual(expected);
    const gateway = await up();
    expect(await described()).toEqual(expected);
    expect(readFileSync(starts, 'utf8')).toBe('x');
    await gateway.stop();
  });

  verifies('R6', 'finds prompts by name, and resources and templates by URI', async () => {
    const { heddle } = project(CONFIG);
    const output = async (name: string) => (await heddle(['describe', name])).stdout;
    expect(await output('wiki.sum-up')).toMatch(/a prompt: .*\n {2}page: required; Which one\.\n {2}tone\n$/s);
    expect(await output('page://one')).toMatch(/a resource: one\n.*\ntype {5}text\/plain\nsize {5}7 bytes\n$/s);
    expect(await output('page://{id}')).toContain('a template: any\n');
    expect(await output('page://two')).toMatch(/^page:\/\/two\na resource: any\n/);
    const json = await heddle(['describe', 'sum-up', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'prompt', definition: LISTS.prompts[0] });
  });
});

describe('search', () => {
  verifies('L1', 'finds tools by keywords, best first, up to --limit', async () => {
    const builtins = { filesystem: { enabled: false } }; // It has a tool that writes, too.
    const { heddle } = project({ 'heddle.json': { mcpServers: { wiki }, builtins } });
    const { stdout } = await heddle(['search', 'write', 'page']);
    expect(rowsOf(stdout).map((row) => row.slice(0, 2))).toEqual([
      ['NAME', 'BY'],
      ['mcp__wiki__write', 'name'],
      ['mcp__wiki__read', 'description'],
    ]);
    const json = await heddle(['search', 'write', 'page', '--limit', '1', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject([{ name: 'mcp__wiki__write', reason: 'name' }]);
    expect(await heddle(['search', 'zebra'])).toMatchObject({ code: 0, stdout: '' });
  });
});

describe('stats', () => {
  verifies('V1', 'shows call results per tool and per server, for every form of the name', async () => {
    const settings = { permissions: { ask: ['mcp__wiki__write'] }, approvals: { unattended: true } };
    const { heddle } = project({ 'heddle.json': { mcpServers: { wiki }, ...settings } });
    for (const name of ['wiki.read', 'mcp__wiki__read', 'read']) await heddle(['call', name]);
    for (const name of ['no.such', 'wiki.write']) await heddle(['call', name]);
    const { stdout } = await heddle(['stats']);
    const [head, read, write, , servers, all] = rowsOf(stdout);
    expect(head).toEqual(['TOOL', 'CALLS', 'OK', 'AVERAGE', 'P50', 'P95', 'P99', 'ERRORS']);
    const time = expect.stringMatching(/^[\d.]+ m?s$/);
    expect(read).toEqual(['mcp__wiki__read', '3', '100 %', time, time, time, time]);
    expect(write).toEqual(['mcp__wiki__write', '1', '0 %', time, time, time, time, '1 APPROVAL_REQUIRED']);
    expect([servers?.[0], all?.slice(0, 3)]).toEqual(['SERVER', ['wiki', '4', '75 %']]);
    const { tools } = JSON.parse((await heddle(['stats', '--since', '1h', '--json'])).stdout);
    expect(tools).toMatchObject([
      { name: 'mcp__wiki__read', totalCalls: 3, successRate: 1, p99Ms: expect.any(Number), topErrors: [] },
      { name: 'mcp__wiki__write', totalCalls: 1, errorCount: 1, topErrors: [{ code: 'APPROVAL_REQUIRED', count: 1 }] },
    ]);
  });

  verifies('R5', 'shows the live statistics of a running gateway', async () => {
    const { heddle, up } = project(CONFIG);
    const { url, token } = await up();
    const params = { name: 'mcp__wiki__read', arguments: {} };
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    });
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'done' }] } });
    // The gateway stores the call a moment after its response.
    const servers = async () => JSON.parse((await heddle(['stats', '--json'])).stdout).servers;
    await expect.poll(servers).toMatchObject([{ name: 'wiki', live: { totalCalls: 1, successRate: 1 } }]);
    expect((await heddle(['stats'])).stdout).toMatch(/ NOW\nwiki [^\n]* 100 % ok, [\d.]+ m?s\n/);
  });

  it('L3: reports on stderr that there were no calls', async () => {
    const { heddle } = project();
    expect(await heddle(['stats', '--since', '2w'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'There were no calls in the last 2w.\n',
    });
  });
});
