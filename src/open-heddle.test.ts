import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { carriersOf } from '../test/alive.ts';
import { verifies } from '../test/requirements.ts';
import { recordingServer, text } from '../test/servers/recording-server.ts';
import { temporaryFolder, temporaryHeddle } from '../test/temporary-heddle.ts';
import { until } from '../test/until.ts';
import type { Call, Caller, Role } from './core/call.ts';
import type { Heddle } from './heddle.ts';

const signal = new AbortController().signal;
const ODD = join(import.meta.dirname, '../test/servers/odd-tools.mjs');
const SILENT = join(import.meta.dirname, '../test/servers/broken-handshake.mjs');

const by = (...roles: Role[]): Caller => ({ id: roles.join('-') || 'no-role', roles, via: 'library' });
const callOf = (name: string, input: Call['input'] = {}): Call => ({
  id: crypto.randomUUID(),
  kind: 'tool',
  name,
  input,
  meta: {},
  caller: by('owner'),
  options: {},
  signal,
});

describe('closing', () => {
  it('can be repeated', async () => {
    const heddle = await temporaryHeddle({ servers: { up: recordingServer({ do: () => text('') }) } });
    await heddle.dispatch(callOf('up.do'));
    await Promise.all([heddle.close(), heddle.close()]);
    await heddle.close();
  });

  verifies('T4', 'while a server is still connecting leaves no process', async () => {
    const mark = `HEDDLE_OPEN=${process.pid}.closing`;
    const [name = '', value = ''] = mark.split('=');
    const silent = { command: process.execPath, args: [SILENT, 'silent'], env: { [name]: value } };
    const heddle = await temporaryHeddle({ servers: { silent, eager: { ...silent, autoConnect: true } } });
    const call = heddle.dispatch(callOf('silent.anything'));
    const failed = expect(call).rejects.toMatchObject({ code: expect.stringMatching(/^(UPSTREAM_|CALL_)/) });
    await until('both servers run', () => carriersOf(mark).length >= 2);
    await heddle.close();
    await failed;
    expect(carriersOf(mark)).toEqual([]);
  });

  verifies('T4', 'during a call fails that call and ends its processes', async () => {
    const mark = `HEDDLE_OPEN=${process.pid}.middle`;
    const [name = '', value = ''] = mark.split('=');
    const heddle = await temporaryHeddle({
      servers: { odd: { command: process.execPath, args: [ODD], env: { [name]: value } } },
    });
    await heddle.dispatch(callOf('odd.plain', { message: 'ready' }));
    const failed = expect(heddle.dispatch(callOf('odd.hang'))).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await heddle.dispatch(callOf('odd.plain', { message: 'after it on the same line' }));
    await heddle.close();
    await failed;
    expect(carriersOf(mark)).toEqual([]);
  });

  verifies('T4', 'is final: a later call is refused and starts nothing', async () => {
    const mark = `HEDDLE_OPEN=${process.pid}.later`;
    const [name = '', value = ''] = mark.split('=');
    const odd = { command: process.execPath, args: [ODD], env: { [name]: value } };
    const heddle = await temporaryHeddle({ servers: { odd } });
    await heddle.close();
    await expect(heddle.dispatch(callOf('odd.plain', { message: 'late' }))).rejects.toMatchObject({
      code: expect.stringMatching(/^(CALL_CANCELLED|UPSTREAM_)/),
    });
    expect(carriersOf(mark)).toEqual([]);
  });

  it('ends readers of changes', async () => {
    const heddle = await temporaryHeddle();
    const subjects: string[] = [];
    const changes = heddle.changes(by('owner'), signal);
    await heddle.servers.connect(by('owner'), 'filesystem', signal);
    await heddle.close();
    for await (const { subject } of changes) subjects.push(subject);
    expect(subjects).toContain('filesystem');
  });
});

describe('roles', () => {
  const ALL: readonly Role[] = ['owner', 'operator', 'approver', 'auditor', 'user'];
  const denied = { code: 'PERMISSION_DENIED' };

  it.each([
    [
      'connect a server',
      ['owner', 'operator'],
      (heddle: Heddle, who: Caller) => heddle.servers.connect(who, 'filesystem', signal),
    ],
    ['run the doctor', ['owner', 'operator'], (heddle: Heddle, who: Caller) => heddle.doctor(who, undefined, signal)],
    ['list servers', ['owner', 'operator', 'auditor'], (heddle: Heddle, who: Caller) => heddle.servers.list(who)],
    ['read statistics', ['owner', 'operator', 'auditor'], (heddle: Heddle, who: Caller) => heddle.traces.stats(who, 0)],
  ])('P4: to %s requires one of %j', async (_, may, act) => {
    const heddle = await temporaryHeddle();
    for (const role of ALL) {
      if (may.includes(role)) await act(heddle, by(role));
      else await expect(act(heddle, by(role)), role).rejects.toMatchObject(denied);
    }
    await expect(act(heddle, by())).rejects.toMatchObject(denied);
  });

  verifies('P4', 'are not needed to list and call tools', async () => {
    const heddle = await temporaryHeddle({ servers: { up: recordingServer({ do: () => text('yes') }) } });
    const { items } = await heddle.catalog.list(by('user'), {});
    expect(items.map(({ publicName }) => publicName)).toContain('mcp__up__do');
    expect(await heddle.dispatch({ ...callOf('mcp__up__do'), caller: by('user') })).toMatchObject({
      value: text('yes'),
    });
  });
});

describe('servers passed by the program', () => {
  verifies('T1', 'can be SDK servers in this process', async () => {
    const server = new McpServer({ name: 'mine', version: '1' });
    server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
      content: [{ type: 'text', text: String(a + b) }],
    }));
    const heddle = await temporaryHeddle({ servers: { mine: { connect: (transport) => server.connect(transport) } } });
    expect(await heddle.dispatch(callOf('mine.add', { a: 2, b: 3 }))).toMatchObject({ value: text('5') });
    await expect(heddle.dispatch(callOf('mine.add', { a: 'x' }))).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  verifies('C5', 'win over configured ones of the same name, and fail at once if invalid', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: { up: { command: 'no-such-program' } } }));
    const heddle = await temporaryHeddle({ folder, servers: { up: recordingServer({ do: () => text('given') }) } });
    expect(await heddle.dispatch(callOf('up.do'))).toMatchObject({ value: text('given') });
    await expect(temporaryHeddle({ servers: { bad: { comand: 'x' } } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  verifies('C8', 'cannot get the privileges of a built-in by its name', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'heddle.json'), JSON.stringify({ mode: 'strict' }));
    const tools = { fs_read_file: () => text('mine') };
    const pretender = recordingServer(tools, () => ({ annotations: { readOnlyHint: true } }));
    const heddle = await temporaryHeddle({ folder, servers: { filesystem: pretender } });
    expect(await heddle.dispatch(callOf('filesystem.fs_read_file'))).toMatchObject({ kind: 'waiting' });
    await writeFile(join(folder, 'note.txt'), 'a note');
    const other = await temporaryHeddle({ folder, servers: { 'heddle-filesystem': pretender } });
    const read = callOf('filesystem.fs_read_file', { path: 'note.txt' });
    expect(await other.dispatch(read)).toMatchObject({ value: text('a note') });
    expect(await other.dispatch(callOf('heddle-filesystem.fs_read_file'))).toMatchObject({ kind: 'waiting' });
  });
});

describe('the configFile option', () => {
  it.each([
    ['is not there', undefined, 'does not exist'],
    ['is broken', '{ "permissions": ', 'rules.json:1'],
  ])('C10: fails to open when it %s: its rules would be missing', async (_, content, message) => {
    const folder = await temporaryFolder();
    if (content !== undefined) await writeFile(join(folder, 'rules.json'), content);
    await expect(temporaryHeddle({ folder, configFile: 'rules.json' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(message),
    });
  });

  it('C10: opens when one entry of it is broken', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'rules.json'), JSON.stringify({ mcpServers: { bad: { comand: 'x' } } }));
    const reported: unknown[] = [];
    const heddle = await temporaryHeddle({
      folder,
      configFile: 'rules.json',
      onProblems: (problems) => reported.push(...problems),
    });
    expect(await heddle.servers.list(by('owner'))).toMatchObject([
      { name: 'bad', state: 'failed' },
      { name: 'filesystem' },
    ]);
    expect(reported).toContainEqual(
      expect.objectContaining({ level: 'error', server: 'bad', fix: expect.any(String) }),
    );
  });
});

verifies('P4', 'configuration gives an owner the settings, and no servers with expanded secrets', async () => {
  const heddle = await temporaryHeddle({
    config: { mcpServers: { up: { command: 'true', env: { TOKEN: '${TOKEN_OF_TEST}' } } } },
    env: { TOKEN_OF_TEST: 'hunter2' },
  });
  const configuration = heddle.configuration(by('owner'));
  expect(Object.keys(configuration).sort()).toEqual(['files', 'origins', 'problems', 'projectFolder', 'settings']);
  expect(inspect(configuration, { depth: null })).not.toContain('hunter2');
  expect(() => heddle.configuration(by('operator'))).toThrow(expect.objectContaining({ code: 'PERMISSION_DENIED' }));
});

verifies('G4', 'names the patterns of a tool that are not checked, on the tool and in the doctor', async () => {
  const properties = {
    mail: { type: 'string', pattern: '^(?!\\.)[a-z.]+$' },
    broken: { type: 'string', pattern: '(a' },
    plain: { type: 'string', pattern: '^\\S+$', default: { pattern: '(?=a)' } },
  };
  const inputSchema = { type: 'object', properties, patternProperties: { '(x)\\1': {}, '^y': {} } };
  const heddle = await temporaryHeddle({
    servers: { up: recordingServer({ do: () => text('') }, () => ({ inputSchema })) },
  });
  const findings = await heddle.doctor(by('owner'), undefined, signal);
  const patterns = ['(x)\\1', '^(?!\\.)[a-z.]+$', '(a'];
  expect(findings.find(({ subject }) => subject === 'patterns')).toMatchObject({
    level: 'warn',
    message: expect.stringContaining('mcp__up__do'),
    facts: { tools: [{ name: 'mcp__up__do', patterns }] },
  });
  const target = await heddle.catalog.describe(by('owner'), 'up.do', signal);
  expect(target.uncheckedPatterns).toEqual(patterns);
  const refused = heddle.dispatch(callOf('up.do', { plain: 'a\u00a0b' }));
  await expect(refused).rejects.toMatchObject({ code: 'INPUT_INVALID', message: expect.stringContaining('plain') });
});

describe('two Heddles with one store', () => {
  verifies('G11', 'write at the same time, and keep the audit log intact', async () => {
    const folder = await temporaryFolder();
    const options = () => ({ servers: { up: recordingServer({ do: ({ n }) => text(String(n)) }) } });
    const [one, two] = await Promise.all([
      temporaryHeddle({ folder, ...options() }),
      temporaryHeddle({ folder, ...options() }),
    ]);
    const calls = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? one : two).dispatch(callOf('up.do', { n })));
    const results = await Promise.all(calls);
    expect(results.map((result) => result.kind === 'complete' && result.value)).toEqual(
      results.map((_, n) => text(String(n))),
    );
    await until('both have written', async () => (await one.traces.stats(by('owner'), 0))[0]?.totalCalls === 100);
    const findings = await two.doctor(by('owner'), undefined, signal);
    const audit = findings.find(({ subject }) => subject === 'audit');
    expect(audit).toMatchObject({ level: 'ok', message: expect.stringContaining('all intact') });
  });
});
