import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { carriersOf } from '../../test/alive.ts';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { temporaryFolder, temporaryHeddle, temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import { until } from '../../test/until.ts';
import type { Config, ServerConfig } from '../config/config.ts';
import type { Caller, JsonObject, Role } from '../core/call.ts';
import type { HeddleClient, OpenOptions } from '../index.ts';
import { openStore } from '../store/open-store.ts';
import type { ActiveConfig } from './active-config.ts';
import { registeredServers } from './registered-servers.ts';

const ODD = join(import.meta.dirname, '../../test/servers/odd-tools.mjs');
const saying = (words: string) => recordingServer({ say: () => text(words) });
const entryWith = (mark: string): JsonObject => {
  const [name = '', value = ''] = mark.split('=');
  return { command: process.execPath, args: [ODD], env: { [name]: value } };
};

async function opened(options: OpenOptions = {}, files: Readonly<Record<string, object>> = {}) {
  const folder = await temporaryFolder();
  const write = async (name: string, content: object) => {
    await mkdir(join(folder, name, '..'), { recursive: true });
    await writeFile(join(folder, name), JSON.stringify(content));
  };
  for (const [name, content] of Object.entries(files)) await write(name, content);
  const env = { PATH: process.env.PATH, HEDDLE_MANAGED_DIR: join(folder, 'managed') };
  const heddle = await temporaryHeddleClient({ folder, env, trustProject: true, ...options });
  return { heddle, write, store: join(folder, 'home', 'heddle.sqlite') };
}

const namesOf = async (heddle: HeddleClient) => (await heddle.servers.list()).map(({ name }) => name);
const callResult = async (heddle: HeddleClient, name = 'new.say') => (await heddle.call(name)).value;

describe('a server that is registered at run time', () => {
  verifies('R10', 'is called like any other, in process or as a child process', async () => {
    const mark = `HEDDLE_REGISTERED=${process.pid}.program`;
    const { heddle } = await opened();
    expect(await heddle.servers.register('new', saying('hello'))).toMatchObject({ name: 'new', state: 'pending' });
    expect(await callResult(heddle)).toEqual(text('hello'));
    expect(await heddle.servers.register('odd', entryWith(mark))).toMatchObject({ scope: 'dynamic', state: 'pending' });
    expect((await heddle.call('odd.plain', { message: 'x' })).value).toMatchObject(text('x'));
    expect((await heddle.tools({ server: 'new' })).map(({ name }) => name)).toEqual(['mcp__new__say']);
    await heddle.servers.unregister('odd');
    await until('its process is gone', () => carriersOf(mark).length === 0);
  });

  verifies('R10', 'cannot take an existing name, whatever its scope', async () => {
    const config = { mcpServers: { written: { command: 'no-such-program' } } };
    const { heddle } = await opened({ servers: { given: saying('given') } }, { 'heddle.json': config });
    await heddle.servers.register('new', saying('first'));
    for (const name of ['new', 'given', 'written', 'filesystem']) {
      const taken = expect.objectContaining({ code: 'NAME_TAKEN', fault: 'caller' });
      await expect(heddle.servers.register(name, saying('second'))).rejects.toEqual(taken);
    }
    expect(await callResult(heddle)).toEqual(text('first'));
    expect(await callResult(heddle, 'given.say')).toEqual(text('given'));
  });

  verifies('R10', 'wins alone when two are registered at once under one name', async () => {
    const { heddle } = await opened();
    const both = await Promise.allSettled(['a', 'b'].map((words) => heddle.servers.register('new', saying(words))));
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(await callResult(heddle)).toEqual(text('a'));
  });

  it('is refused when its entry or its name is invalid, and leaves nothing behind', async () => {
    const { heddle } = await opened();
    const bad: readonly [string, JsonObject][] = [
      ['new', { comand: 'x' }],
      ['new', {}],
      ['a b', { command: 'x' }],
      ['heddle-x', { command: 'x' }],
    ];
    for (const [name, entry] of bad) {
      await expect(heddle.servers.register(name, entry), name).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
    expect(await namesOf(heddle)).toEqual(['filesystem']);
    await heddle.servers.register('new', saying('good'));
    expect(await callResult(heddle)).toEqual(text('good'));
  });

  verifies('C6', 'is refused if an organisation forbids it, unless it is in process', async () => {
    const managed = { 'managed/managed-settings.json': { deniedServers: [{ serverName: 'new' }] } };
    const { heddle } = await opened({}, managed);
    await expect(heddle.servers.register('new', { command: 'x' })).rejects.toMatchObject({ code: 'SERVER_BLOCKED' });
    expect(await namesOf(heddle)).toEqual(['filesystem']);
    await expect(heddle.servers.unregister('new')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    await heddle.servers.register('new', saying('own'));
    expect(await callResult(heddle)).toEqual(text('own'));
  });

  verifies('R10', 'survives changes of files, and wins over a server of its name in them', async () => {
    const { heddle, write } = await opened({ watch: true }, { 'heddle.json': {} });
    await heddle.servers.register('new', saying('registered'));
    await write('heddle.json', { mcpServers: { new: { command: 'no-such-program' }, other: { command: 'x' } } });
    await until('the file counts', async () => (await namesOf(heddle)).includes('other'));
    expect(await callResult(heddle)).toEqual(text('registered'));
    await heddle.servers.unregister('new');
    const status = (await heddle.servers.list()).find(({ name }) => name === 'new');
    expect(status).toMatchObject({ scope: 'project', transport: 'stdio' });
  });
});

it('reads the files again when a server is registered during a read', async () => {
  const config = (servers: readonly ServerConfig[]) =>
    ({ servers: new Map(servers.map((one) => [one.name, one])) }) as unknown as Config;
  const slow = Promise.withResolvers<void>();
  const readings: (readonly string[])[] = [];
  let inForce = config([]);
  const { read, register } = registeredServers({
    async read(servers) {
      if (readings.push(servers.map(({ name }) => name)) === 1) await slow.promise;
      return config(servers);
    },
    active: () => ({ config: inForce, configs: inForce.servers }) as unknown as ActiveConfig,
    adopt: (next) => {
      inForce = next;
    },
    inProcess: new Map(),
    closing: new AbortController().signal,
  });
  const changed = read();
  await register('new', { command: 'x' });
  slow.resolve();
  expect([...(await changed).servers.keys()]).toEqual(['new']);
  expect(readings).toEqual([[], ['new'], ['new']]);
});

describe('a registered server that is updated or unregistered', () => {
  verifies('R10', 'finishes calls in flight and accepts no others', async () => {
    const { heddle } = await opened();
    const held = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const hold = async () => {
      started.resolve();
      await held.promise;
      return text('late');
    };
    await heddle.servers.register('new', recordingServer({ hold, say: () => text('old') }));
    const call = heddle.call('new.hold');
    await started.promise;
    await heddle.servers.update('new', saying('newer'));
    expect(await callResult(heddle)).toEqual(text('newer'));
    await heddle.servers.unregister('new');
    await expect(callResult(heddle)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    held.resolve();
    expect((await call).value).toEqual(text('late'));
  });

  verifies('R10', 'changes the digests of changed definitions only', async () => {
    const { heddle } = await opened();
    const digests = async () =>
      Object.fromEntries((await heddle.tools({ server: 'new' })).map((one) => [one.name, one.digest]));
    const tools = { say: () => text(''), stay: () => text('') };
    await heddle.servers.register('new', recordingServer(tools));
    const before = await digests();
    await heddle.servers.update(
      'new',
      recordingServer(tools, (name) => (name === 'say' ? { title: 'Say' } : {})),
    );
    const after = await digests();
    expect(after.mcp__new__stay).toBe(before.mcp__new__stay);
    expect(after.mcp__new__say).not.toBe(before.mcp__new__say);
    expect((await heddle.catalog.describe('new.say')).digest).toBe(after.mcp__new__say);
  });

  verifies('R10', 'publishes `registered` when it is added and `closed` when it is removed', async () => {
    const { heddle } = await opened();
    const abort = new AbortController();
    const changes = heddle.changes({ signal: abort.signal });
    await heddle.servers.register('new', saying('1'));
    await callResult(heddle);
    await heddle.servers.update('new', saying('2'));
    await heddle.servers.unregister('new');
    abort.abort();
    const events: unknown[] = [];
    for await (const { kind, subject, detail } of changes) {
      if (kind === 'server' && subject === 'new') events.push(detail.event);
    }
    expect(events.filter((event) => event === 'registered' || event === 'closed')).toEqual([
      'registered',
      'closed',
      'registered',
      'closed',
    ]);
  });

  it('rejects servers that were not registered, and keeps the old one when an update is refused', async () => {
    const { heddle } = await opened({ servers: { given: saying('given') } });
    for (const name of ['given', 'filesystem', 'unknown']) {
      await expect(heddle.servers.unregister(name)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
      await expect(heddle.servers.update(name, saying('x'))).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    }
    await heddle.servers.register('new', saying('kept'));
    await expect(heddle.servers.update('new', { comand: 'x' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await callResult(heddle)).toEqual(text('kept'));
  });
});

describe('administration of servers at run time', () => {
  verifies('R10', 'writes audit records with caller and outcome, without secrets', async () => {
    const { heddle, store: location } = await opened();
    const entry = { command: 'no-such-program', env: { KEY: 'hunter2' }, args: ['--token', 'hunter2'] };
    await heddle.servers.register('new', entry);
    await expect(heddle.servers.register('new', entry)).rejects.toThrow('new');
    await heddle.servers.unregister('new');
    await heddle.close();
    const store = await openStore({ location });
    const records = (await store.audit.search({ limit: 10 })).toReversed();
    await store.close();
    expect(records.map(({ phase, name, detail }) => `${name} ${phase} ${detail.outcome ?? ''}`.trim())).toEqual([
      'servers.register intent',
      'servers.register outcome ok',
      'servers.register intent',
      'servers.register outcome NAME_TAKEN',
      'servers.unregister intent',
      'servers.unregister outcome ok',
    ]);
    expect(records[0]).toMatchObject({
      caller: 'library',
      detail: { server: 'new', entry: { command: 'no-such-program', env: '[REDACTED]' } },
    });
    expect(JSON.stringify(records)).not.toContain('hunter2');
  });

  verifies('P4', 'requires the role owner or operator', async () => {
    const heddle = await temporaryHeddle();
    const by = (role: Role): Caller => ({ id: role, roles: [role], via: 'console' });
    for (const role of ['approver', 'auditor', 'user'] as const) {
      const denied = { code: 'PERMISSION_DENIED' };
      await expect(heddle.servers.register(by(role), 'new', saying('x'))).rejects.toMatchObject(denied);
      await expect(heddle.servers.update(by(role), 'new', saying('x'))).rejects.toMatchObject(denied);
      await expect(heddle.servers.unregister(by(role), 'new')).rejects.toMatchObject(denied);
    }
    await heddle.servers.register(by('operator'), 'new', saying('x'));
    await heddle.servers.unregister(by('owner'), 'new');
  });

  it('starts nothing after Heddle was closed', async () => {
    const mark = `HEDDLE_REGISTERED=${process.pid}.closed`;
    const { heddle } = await opened();
    const late = heddle.servers.register('new', { ...entryWith(mark), autoConnect: true });
    const failed = expect(late).rejects.toMatchObject({
      code: expect.stringMatching(/CALL_CANCELLED|AUDIT_UNAVAILABLE/),
    });
    await heddle.close();
    await failed;
    expect(carriersOf(mark)).toEqual([]);
  });
});
