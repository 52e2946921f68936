import { chmod, readdir, stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { deskWith } from './fixtures.ts';

const TIME = { command: 'uvx', args: ['mcp-server-time'] };
const SECRET = 'hunter2-is-the-value';

verifies('L1', 'adds a command to the project, in a new heddle.json that editors complete', async () => {
  const desk = await deskWith();
  const ran = await desk.heddle(['add', 'time', '--env', 'ZONE=UTC', '--', 'uvx', 'mcp-server-time', '--flag']);
  const file = desk.path('project/heddle.json');
  expect(ran).toEqual({ code: 0, stdout: `Added time to ${file} (project).\n`, stderr: '' });
  expect(await desk.read('project/heddle.json')).toBe(`{
  "$schema": "./.heddle/heddle.schema.json",
  "mcpServers": {
    "time": {
      "command": "uvx",
      "args": ["mcp-server-time", "--flag"],
      "env": {
        "ZONE": "UTC"
      }
    }
  }
}
`);
  const schema = await desk.heddle(['config', 'schema']);
  expect(await desk.read('project/.heddle/heddle.schema.json')).toBe(schema.stdout);
  expect(JSON.parse(schema.stdout)).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema' });
});

verifies('C2', 'derives a name if none is given, makes it unique, and prints it', async () => {
  const desk = await deskWith({ 'project/heddle.json': { mcpServers: { example: TIME } } });
  const ran = await desk.heddle(['add', 'https://example.com/mcp', '--header', 'X-Zone: UTC', '--json']);
  expect(ran.stderr).toContain('called example-2');
  expect(JSON.parse(ran.stdout)).toEqual({
    added: ['example-2'],
    scope: 'project',
    secrets: [],
    file: desk.path('project/heddle.json'),
    changed: true,
  });
  expect(JSON.parse(await desk.read('project/heddle.json')).mcpServers['example-2']).toEqual({
    type: 'http',
    url: 'https://example.com/mcp',
    headers: { 'X-Zone': 'UTC' },
  });
});

describe('the target file', () => {
  const entry = JSON.stringify(TIME);
  it.each([
    ['the project’s heddle.json', {}, [], 'project', 'project/heddle.json'],
    ['.mcp.json when that is the only one', { 'project/.mcp.json': {} }, [], 'project', 'project/.mcp.json'],
    [
      'heddle.json when both are there',
      { 'project/.mcp.json': {}, 'project/heddle.json': {} },
      [],
      'project',
      'project/heddle.json',
    ],
    ['the user’s file outside a project', {}, [], 'plain', 'home/heddle.json'],
    ['the user’s file when asked', {}, ['--scope', 'user'], 'project', 'home/heddle.json'],
    ['the local file when asked', {}, ['--scope', 'local'], 'project', 'project/.heddle/local.json'],
  ])('%s', async (_, files, words, cwd, expected) => {
    const desk = await deskWith(files);
    expect(await desk.heddle(['add', 'time', entry, ...words], { cwd })).toMatchObject({ code: 0 });
    const text = await desk.read(expected);
    expect(JSON.parse(text).mcpServers.time).toEqual(TIME);
    expect(text.includes('$schema')).toBe(!expected.endsWith('.mcp.json') && !Object.hasOwn(files, expected));
  });

  it('is the user scope below Heddle’s own folder', async () => {
    const desk = await deskWith();
    await desk.heddle(['add', 'time', entry, '--scope', 'user']);
    expect((await stat(desk.path('home/heddle.json'))).mode & 0o777).toBe(0o600);
  });
});

describe('pasted JSON', () => {
  const whole = { mcpServers: { one: { command: 'a' }, two: { url: 'https://two.example/mcp' } } };
  it.each([
    ['one entry', [JSON.stringify({ command: 'npx', args: ['-y', '@scope/server-x@1.2'] })], ['server-x']],
    ['a named entry', [JSON.stringify({ one: { command: 'a' } })], ['one']],
    ['a member without braces', ['"one": { "command": "a" },'], ['one']],
    ['several', [JSON.stringify(whole)], ['one', 'two']],
    ['with comments', ['{ // hello\n "one": { "command": "a", } }'], ['one']],
    ['in a code block', ['```json\n{ "one": { "command": "a" } }\n```'], ['one']],
    ['of VS Code', ['{ "servers": { "one": { "type": "stdio", "command": "a" } }, "inputs": [] }'], ['one']],
    ['renamed', ['mine', JSON.stringify({ one: { command: 'a' } })], ['mine']],
  ])('may be %s', async (_, words, names) => {
    const desk = await deskWith();
    const ran = await desk.heddle(['add', ...words, '--json']);
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.stdout).added).toEqual(names);
  });

  it('is read from stdin or a file', async () => {
    const desk = await deskWith({ 'project/servers.json': whole });
    expect(await desk.spawned(['add', '-'], JSON.stringify({ three: { command: 'c' } }))).toMatchObject({
      code: 0,
    });
    expect(await desk.heddle(['add', 'servers.json'])).toMatchObject({ code: 0 });
    expect(Object.keys(JSON.parse(await desk.read('project/heddle.json')).mcpServers)).toEqual(['three', 'one', 'two']);
  });

  it('accepts a server.json of the registry', async () => {
    const server = {
      name: 'io.example/clock',
      description: 'Tells the time',
      version: '1.0.0',
      packages: [{ registryType: 'npm', identifier: '@example/clock', version: '1.0.0', transport: { type: 'stdio' } }],
    };
    const desk = await deskWith({ 'project/server.json': server });
    expect(await desk.heddle(['add', 'server.json'])).toMatchObject({ code: 0 });
    expect(JSON.parse(await desk.read('project/heddle.json')).mcpServers.clock).toMatchObject({
      command: 'npx',
      args: ['-y', '@example/clock@1.0.0'],
    });
  });
});

describe('refuses bad input with a fix, and writes nothing:', () => {
  it.each([
    [[], 2, 'No server to add was given'],
    [['time'], 2, 'neither a URL, nor JSON, nor a file'],
    [['shop', `postgres://reader:${SECRET}@db/shop`], 2, 'Name it in `builtins.database.connections` of heddle.json'],
    [[`MySQL://reader:${SECRET}@db/shop`], 2, 'The URL of a database is not that of a server'],
    [['shop', 'sqlite:data/shop.db'], 2, 'Name it in `builtins.database.connections`'],
    [['shop', `oracle://reader:${SECRET}@db/shop`], 2, 'neither a URL, nor JSON, nor a file'],
    [['time', 'url', 'more'], 2, 'one word too many'],
    [['time', '--'], 2, 'After `--` comes the command'],
    [['heddle', '--', 'x'], 3, 'is reserved for Heddle itself'],
    [['heddle-x', '--', 'x'], 3, 'is reserved for Heddle itself'],
    [['workflow', '--', 'x'], 3, 'is reserved for Heddle itself'],
    [['a b', '--', 'x'], 3, 'has characters other than'],
    [['__proto__', '--', 'x'], 3, '`__proto__` is not allowed'],
    [['a', 'https://'], 2, 'is not a URL'],
    [['a', 'https://h/', '--transport', 'websocket'], 2, 'Did you mean ws?'],
    [['a', 'https://h/', '--transport', 'ws'], 3, 'so its `url` has to be ws or wss'],
    [['a', 'https://h/', '--env', 'A=B'], 2, '--env is for a server started by a command'],
    [['a', '--header', 'A: B', '--', 'x'], 2, '--header is for a server reached by a URL'],
    [['a', '--env', SECRET, '--', 'x'], 2, 'Write `--env NAME=value`.'],
    [['a', '--scope', 'usr', '--', 'x'], 2, 'Did you mean user?'],
    [['a', '--frce', '--', 'x'], 2, 'Did you mean --force?'],
    [['a', '{"command":'], 2, 'is not valid JSON'],
    [['a', '{}'], 2, 'There is no server in'],
    [['a', '{"x":1}'], 2, 'There is no server in'],
    [['a', '{"comand":"x"}'], 2, 'There is no server in'],
    [['{"a":{"comand":"x"}}'], 3, 'Did you mean `command`?'],
    [['{"a":{"command":"x","transport":"carrier"}}'], 3, '`mcpServers.a.type` must be one of `stdio`'],
    [['{"a":{"command":"x","url":"http://h"}}'], 3, 'both `command` and `url`'],
    [['{"a":{"command":"x","env":{"__proto__":"y"}}}'], 2, '`__proto__` is not allowed'],
    [['n', '{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}}}'], 2, 'There are 2 servers, and one name'],
    [['{"a":{"command":"x"},"b":{"command":"y"}}', '--env', 'A=B'], 2, 'there are several servers'],
    [['a', '{"command":"${a b}"}'], 3, 'is not something Heddle expands'],
  ])('%j', async (words, code, said) => {
    const desk = await deskWith();
    const ran = await desk.heddle(['add', ...words]);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(said);
    expect(ran.stderr).toContain('fix: ');
    expect(ran.stderr).not.toContain(SECRET);
    expect(await readdir(desk.path('project'))).toEqual(['.git']);
    expect(await readdir(desk.path('home'))).toEqual([]);
  });

  it.each([
    ['broken', '{ "mcpServers": }', '1:17'],
    ['with servers that are none', '{ "mcpServers": [] }', 'is not a JSON object'],
    ['that is a list', '[]', 'does not contain a JSON object'],
  ])('a file %s', async (_, text, said) => {
    const desk = await deskWith({ 'project/heddle.json': text });
    const ran = await desk.heddle(['add', 'a', '--', 'x']);
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain(said);
    expect(await desk.read('project/heddle.json')).toBe(text);
  });
});

it('replaces an existing name with --force alone', async () => {
  const before = '{\n  // mine\n  "mcpServers": {\n    "a": { "command": "old" }\n  }\n}\n';
  const desk = await deskWith({ 'project/heddle.json': before });
  const refused = await desk.heddle(['add', 'a', '--', 'new']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Add `--force` to replace it') });
  expect(await desk.read('project/heddle.json')).toBe(before);
  expect(await desk.heddle(['add', 'a', '--force', '--', 'new'])).toMatchObject({ code: 0 });
  expect(await desk.read('project/heddle.json')).toBe(
    before.replace('{ "command": "old" }', '{\n      "command": "new"\n    }'),
  );
});

it('shows the diff with --dry-run, and writes nothing', async () => {
  const before = { mcpServers: { old: { command: 'x', env: { API_KEY: SECRET } } } };
  const desk = await deskWith({ 'project/heddle.json': before });
  const text = await desk.read('project/heddle.json');
  const words = ['add', 'new', '--env', `TOKEN=${SECRET}`, '--dry-run', '--', 'y'];
  const plain = await desk.heddle([...words.slice(0, 4), '--plain', ...words.slice(4)]);
  expect(plain.stdout).toContain('+    "new": {');
  const moved = await desk.heddle(words);
  expect(moved.stdout).toContain('+        "TOKEN": "${secret:new.TOKEN}"');
  const asJson = await desk.heddle([...words.slice(0, 4), '--json', ...words.slice(4)]);
  expect(JSON.parse(asJson.stdout)).toMatchObject({ changed: true, diff: expect.stringContaining('+    "new": {') });
  for (const { code, stdout, stderr } of [plain, moved, asJson]) {
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(SECRET);
  }
  expect(await desk.read('project/heddle.json')).toBe(text);
  expect(await readdir(desk.path('project'))).toEqual(['.git', 'heddle.json']);
  expect(await readdir(desk.path('home'))).toEqual([]);
});

verifies('C9', 'moves secrets to the store, and the file names them', async () => {
  const desk = await deskWith();
  const ran = await desk.heddle([
    'add',
    'a',
    'https://h.example/',
    '--header',
    `Authorization: Bearer ${SECRET}`,
    '--header',
    'X-Zone: UTC',
  ]);
  expect(ran.code).toBe(0);
  const text = await desk.read('project/heddle.json');
  expect(JSON.parse(text).mcpServers.a.headers).toEqual({
    Authorization: 'Bearer ${secret:a.Authorization}',
    'X-Zone': 'UTC',
  });
  expect(ran.stdout + ran.stderr + text + (await desk.read('home/secrets.json'))).not.toContain(SECRET);
  expect((await desk.heddle(['secret', 'list'])).stdout).toContain('a.Authorization');
});

it('warns of a secret that --plain keeps in the file as plain text', async () => {
  const desk = await deskWith();
  const key = 'ghp_0123456789abcdefghij';
  const variables = ['--env', `CREDENTIALS=${key}`, '--env', 'REF_TOKEN=${TOKEN}'];
  const ran = await desk.heddle(['add', 'a', '--plain', ...variables, '--', 'x']);
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('env.CREDENTIALS of a looks like a secret');
  expect(ran.stderr).not.toContain('REF_TOKEN looks');
  expect(ran.stderr).toContain('TOKEN is not set here; a starts only where it is set.');
  expect(ran.stdout + ran.stderr).not.toContain(key);
});

it('keeps both of two servers that are added at the same time', async () => {
  const desk = await deskWith({ 'project/heddle.json': '{\n  "mcpServers": {}\n}\n' });
  const names = ['a', 'b', 'c', 'd'];
  const ran = await Promise.all(names.map((name) => desk.spawned(['add', name, '--', 'x'], '')));
  for (const { code } of ran) expect(code).toBe(0);
  expect(Object.keys(JSON.parse(await desk.read('project/heddle.json')).mcpServers).sort()).toEqual(names);
});

it('prints a notice when another file wins over the written one', async () => {
  const desk = await deskWith({ 'project/heddle.json': { mcpServers: { a: { command: 'x' } } } });
  const ran = await desk.heddle(['add', 'a', '--scope', 'user', '--', 'y']);
  expect(ran).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`which wins over ${desk.path('home/heddle.json')}`),
  });
});

it('keeps the mode of the file', async () => {
  const desk = await deskWith({ 'project/heddle.json': {} });
  await chmod(desk.path('project/heddle.json'), 0o640);
  await desk.heddle(['add', 'a', '--', 'x']);
  expect((await stat(desk.path('project/heddle.json'))).mode & 0o777).toBe(0o640);
});
