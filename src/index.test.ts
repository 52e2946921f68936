import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../test/requirements.ts';
import { recordingServer, text } from '../test/servers/recording-server.ts';
import { temporaryFolder, temporaryHeddleClient } from '../test/temporary-heddle.ts';
import { type HeddleClient, type OpenOptions, openHeddle, text as textOf } from './index.ts';
import { openStore } from './store/open-store.ts';

async function opened() {
  const folder = await temporaryFolder();
  const server = recordingServer({ say: ({ words }) => text(String(words)) });
  const heddle = await temporaryHeddleClient({ folder, env: {}, servers: { demo: server } });
  return { heddle, server, store: join(folder, 'home', 'heddle.sqlite') };
}

verifies('X1', 'lists and calls tools, and returns the provenance of each result', async () => {
  const { heddle } = await opened();
  expect((await heddle.tools()).map(({ name }) => name)).toContain('mcp__demo__say');
  const result = await heddle.call('demo.say', { words: 'hello' });
  expect(result).toMatchObject({ value: text('hello'), isError: false, server: 'demo', attempts: 1 });
  expect(result.latencyMs).toBeGreaterThan(0);
});

verifies('X1', 'rejects arguments that JSON cannot express, before any server receives them', async () => {
  const { heddle, server } = await opened();
  const round: Record<string, unknown> = {};
  round.round = round;
  for (const input of [{ words: 1n }, { words() {} }, round]) {
    const refused = heddle.call('demo.say', input as never);
    await expect(refused).rejects.toMatchObject({ code: 'INPUT_INVALID', message: expect.stringContaining('as JSON') });
  }
  expect(server.calls).toEqual([]);
  await heddle.call('demo.say', { words: new Date(0), more: undefined } as never);
  expect(server.calls).toMatchObject([{ arguments: { words: '1970-01-01T00:00:00.000Z' } }]);
});

verifies('X1', 'connects servers at their first call, not before', async () => {
  const { heddle } = await opened();
  const states = async () => (await heddle.servers.list()).map(({ name, state }) => `${name} ${state}`);
  expect(await states()).toEqual(['demo pending', 'filesystem pending']);
  await heddle.call('demo.say', { words: 'hello' });
  expect(await states()).toEqual(['demo connected', 'filesystem pending']);
});

verifies(
  'G11',
  'decides and records each call with its own arguments, even if the program reuses one object',
  async () => {
    const { heddle, store: location } = await opened();
    const input = { words: 'harmless' };
    await heddle.call('demo.say', input);
    input.words = 'please delete it';
    await expect(heddle.call('demo.say', input)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
    input.words = 'again';
    await heddle.call('demo.say', input);
    await heddle.close();
    const store = await openStore({ location });
    const records = await store.audit.search({ limit: 10 });
    await store.close();
    const recorded = records.filter(({ phase }) => phase === 'intent').map(({ detail }) => detail.arguments);
    expect(recorded).toEqual([{ words: 'again' }, { words: 'please delete it' }, { words: 'harmless' }]);
  },
);

verifies('X1', 'accepts an SDK server without a wrapper', async () => {
  const clock = new McpServer({ name: 'clock', version: '1.0.0' });
  clock.registerTool('now', {}, () => ({ content: [{ type: 'text', text: 'noon' }] }));
  const heddle = await temporaryHeddleClient({ servers: { clock } });
  expect(textOf((await heddle.call('clock.now')).value)).toBe('noon');
});

const DENIES_DEMO = { permissions: { deny: ['mcp__demo'] } };

/** A folder whose heddle.json denies every tool of `demo`, and a function that opens Heddle there. */
async function folderWithConfig() {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'heddle.json'), JSON.stringify(DENIES_DEMO));
  const env = { HEDDLE_HOME: join(folder, 'home'), HEDDLE_MANAGED_DIR: join(folder, 'managed') };
  const servers = { demo: recordingServer({ say: () => text('hello') }) };
  return {
    folder,
    async open(options: OpenOptions) {
      const heddle = await openHeddle({ cwd: folder, env, servers, trustProject: true, ...options });
      onTestFinished(() => heddle.close());
      return heddle;
    },
  };
}

verifies('C6', 'opens the store of an organisation, even if the program passes another', async () => {
  const { folder, open } = await folderWithConfig();
  await mkdir(join(folder, 'managed'));
  const managed = { mcpServers: {}, store: join(folder, 'managed.sqlite') };
  await writeFile(join(folder, 'managed', 'managed-mcp.json'), JSON.stringify(managed));
  await open({ store: 'own.sqlite' });
  expect(existsSync(managed.store)).toBe(true);
  expect(existsSync(join(folder, 'own.sqlite'))).toBe(false);
});

describe('the config option', () => {
  verifies(
    'X1',
    'reads no file of the project or the user, and leaves no database with a store in memory',
    async () => {
      const { folder, open } = await folderWithConfig();
      await expect((await open({ store: 'denied.sqlite' })).call('demo.say')).rejects.toMatchObject({
        code: 'NAME_UNKNOWN',
      });
      expect(existsSync(join(folder, 'denied.sqlite'))).toBe(true);
      for (const config of [false, {}] as const) {
        const heddle = await open({ config, store: ':memory:' });
        expect(textOf((await heddle.call('demo.say')).value)).toBe('hello');
        await heddle.close();
      }
      expect(existsSync(join(folder, 'home'))).toBe(false);
    },
  );

  verifies('X1', 'takes an object as the whole configuration', async () => {
    const { open } = await folderWithConfig();
    const heddle = await open({ config: { permissions: { deny: ['mcp__filesystem'] } }, store: ':memory:' });
    expect((await heddle.tools()).map(({ name }) => name)).toEqual(['mcp__demo__say']);
  });

  verifies('C14', 'does not replace the files of an organisation', async () => {
    const { folder, open } = await folderWithConfig();
    await mkdir(join(folder, 'managed'));
    await writeFile(join(folder, 'managed', 'managed-mcp.json'), JSON.stringify({ mcpServers: {} }));
    const heddle = await open({ config: { mcpServers: { own: { command: 'true' } } }, store: ':memory:' });
    expect((await heddle.servers.list()).find(({ name }) => name === 'own')?.state).not.toBe('pending');
  });

  const tooDeep = JSON.parse(`${'{"a":'.repeat(65)}{}${'}'.repeat(65)}`);
  const circular: Record<string, unknown> = { permissions: { deny: ['mcp__demo'] } };
  circular.self = circular;

  it.each([
    ['is an array', [], 'is not a plain object'],
    ['is a string', 'x', 'is not a plain object'],
    ['is null', null, 'is not a plain object'],
    ['is true', true, 'is not a plain object'],
    ['is a function', () => ({}), 'is not a plain object'],
    ['is a promise', Promise.resolve(DENIES_DEMO), 'is not a plain object'],
    ['is nested over 64 levels', tooDeep, 'nested deeper than 64 levels'],
    ['refers to itself', circular, 'cannot be written as JSON'],
  ])('C10: fails to open when it %s: its rules would be missing', async (_, config, message) => {
    const { open } = await folderWithConfig();
    await expect(open({ config: config as never, store: ':memory:' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(message),
    });
  });

  verifies('X1', 'cannot be combined with configFile', async () => {
    const { open } = await folderWithConfig();
    await expect(open({ config: {}, configFile: 'heddle.json' })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  });
});

describe('options of the library', () => {
  const { signal } = new AbortController();

  it.each<[string, (heddle: HeddleClient) => unknown]>([
    ['tools', (heddle) => heddle.tools(signal as never)],
    ['call', (heddle) => heddle.call('demo.say', {}, signal as never)],
    ['catalog.describe', (heddle) => heddle.catalog.describe('demo.say', signal as never)],
    ['catalog.search', (heddle) => heddle.catalog.search('say', signal as never)],
    ['catalog.categories', (heddle) => heddle.catalog.categories(signal as never)],
    ['servers.connect', (heddle) => heddle.servers.connect('demo', signal as never)],
    ['servers.notify', (heddle) => heddle.servers.notify('demo', { method: 'x/y' }, signal as never)],
    ['changes', (heddle) => heddle.changes(signal as never)],
    ['onNotification', (heddle) => heddle.onNotification({}, () => {}, signal as never)],
    ['resources', (heddle) => heddle.resources(signal as never)],
    ['resourceTemplates', (heddle) => heddle.resourceTemplates(signal as never)],
    ['readResource', (heddle) => heddle.readResource('u:1', signal as never)],
    ['subscribe', (heddle) => heddle.subscribe('u:1', () => {}, signal as never)],
    ['prompts', (heddle) => heddle.prompts(signal as never)],
    ['getPrompt', (heddle) => heddle.getPrompt('greet', {}, signal as never)],
    ['complete', (heddle) => heddle.complete({ prompt: 'greet' }, { name: 'a', value: '' }, signal as never)],
  ])('X1: %s rejects an AbortSignal in the place of { signal }', async (name, run) => {
    const { heddle, server } = await opened();
    await expect((async () => run(heddle))()).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringContaining(`\`${name}\``),
      fix: 'Pass the signal as `{ signal }`.',
    });
    expect(server.calls).toEqual([]);
  });

  it.each<[string, string, (heddle: HeddleClient) => unknown]>([
    ['tools', 'servers', (heddle) => heddle.tools({ servers: 'demo' } as never)],
    ['call', 'timeout', (heddle) => heddle.call('demo.say', {}, { timeout: 1 } as never)],
    ['onNotification', 'name', (heddle) => heddle.onNotification({ name: 'demo' } as never, () => {})],
    [
      'complete',
      'city',
      (heddle) => heddle.complete({ prompt: 'greet' }, { name: 'a', value: '' }, { city: 'Rome' } as never),
    ],
  ])('X1: %s rejects the unknown option %s', async (name, key, run) => {
    const { heddle, server } = await opened();
    await expect((async () => run(heddle))()).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: `\`${name}\` has no option \`${key}\`.`,
      fix: expect.stringContaining('Use '),
    });
    expect(server.calls).toEqual([]);
  });

  it.each([
    [{ elicit: () => ({ action: 'cancel' }) }, '`openHeddle` has no option `elicit`.'],
    [{ hooks: { beforeQuestion: () => false } }, '`hooks` has no option `beforeQuestion`.'],
    [null, 'The options of `openHeddle` are not an object.'],
  ])('X1: openHeddle rejects unknown options: %j', async (options, message) => {
    await expect(openHeddle(options as never)).rejects.toMatchObject({ code: 'USAGE_INVALID', message });
  });
});
