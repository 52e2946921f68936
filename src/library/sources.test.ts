import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { temporaryFolder } from '../../test/temporary-heddle.ts';
import { config, environment, type HeddleClient, manual, type OpenOptions, openHeddle, standard } from '../index.ts';

const NO_FILES = {
  policies: [{ name: 'no-files', effect: 'deny', tools: ['mcp__filesystem'], reason: 'No files here.' }],
};

/** A machine with a server in every kind of source, and `both` in three of them. */
async function machine() {
  const folder = await temporaryFolder();
  const entries = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, { command: 'true', args: [name] }]));
  const write = async (path: string, content: object | string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content));
  };
  await write('project/heddle.json', { mcpServers: entries('project', 'both') });
  await write('project/.heddle/plugins/one/.mcp.json', { mcpServers: entries('plugin') });
  await write('project/.heddle/policies/no-files.json', NO_FILES);
  await write('user/.heddle/heddle.json', { mcpServers: entries('user') });
  await write('user/.claude.json', { mcpServers: entries('claude') });
  await write('project/chosen.json', { mcpServers: entries('chosen', 'both') });
  await write('project/other.json', { mcpServers: entries('other') });
  const env = {
    HOME: join(folder, 'user'),
    HEDDLE_MANAGED_DIR: join(folder, 'managed'),
    HEDDLE_MCP_SERVERS: JSON.stringify({ mcpServers: entries('variable', 'both') }),
  };
  const open = async (options: OpenOptions = {}) => {
    const own = { cwd: join(folder, 'project'), env, store: ':memory:', trustProject: true };
    const heddle = await openHeddle({ ...own, ...options });
    onTestFinished(() => heddle.close());
    return heddle;
  };
  const names = async (options: OpenOptions = {}) =>
    (await (await open(options)).servers.list()).map(({ name }) => name).toSorted();
  return { write, open, names };
}

const FILES = ['both', 'claude', 'filesystem', 'plugin', 'project', 'user'];

verifies('C5', 'reads the sources that the program names, and no other', async () => {
  const { names } = await machine();
  expect(await names({ sources: [config('chosen.json')] })).toEqual(['both', 'chosen', 'filesystem']);
  expect(await names({ sources: [environment] })).toEqual(['both', 'filesystem', 'variable']);
  expect(await names({ sources: [standard] })).toEqual(FILES);
  for (const sources of [[manual], []]) {
    expect(await names({ sources })).toEqual(['filesystem']);
  }
});

verifies('C5', 'without `sources` reads the variable and the standard files', async () => {
  const { names } = await machine();
  const all = [...FILES, 'variable'].toSorted();
  expect([await names(), await names({ sources: [environment, standard] })]).toEqual([all, all]);
});

verifies('C5', 'an earlier source wins over a later one, and servers of the program over all', async () => {
  const { open, names } = await machine();
  const combined = [config('chosen.json'), config('other.json'), environment, manual];
  expect(await names({ sources: combined })).toEqual(['both', 'chosen', 'filesystem', 'other', 'variable']);
  const scopeOf = async (options: OpenOptions) => (await (await open(options)).servers.get('both')).scope;
  expect(await scopeOf({ sources: combined })).toBe('config');
  expect(await scopeOf({ sources: combined.toReversed() })).toBe('environment');
  expect(await scopeOf({ sources: [standard, environment] })).toBe('project');
  const heddle = await open({ sources: combined, servers: { both: recordingServer({ say: () => text('own') }) } });
  expect((await heddle.call('both.say')).value).toEqual(text('own'));
});

verifies('C5', 'registers servers at run time with the source `manual`, and reads no policies', async () => {
  const { open } = await machine();
  const heddle = await open({ sources: [manual] });
  await heddle.servers.register('late', recordingServer({ say: () => text('hello') }));
  expect((await heddle.call('late.say')).value).toEqual(text('hello'));
  const read = async ({ call }: HeddleClient) =>
    (await call('filesystem.fs_read_file', { path: 'other.json' })).isError;
  expect(await read(heddle)).toBe(false);
  await expect(read(await open({ sources: [standard] }))).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
});

verifies('C6', 'applies the files of an organisation with any sources', async () => {
  const { write, names } = await machine();
  await write('managed/managed-mcp.json', { mcpServers: { managed: { command: 'true' } } });
  for (const source of [config('chosen.json'), environment, standard, manual]) {
    expect(await names({ sources: [source] })).toContain('managed');
  }
});

verifies('C5', 'fails to open if a file that the program names is missing or broken', async () => {
  const { write, open } = await machine();
  await write('project/broken.json', '{');
  for (const name of ['missing.json', 'broken.json']) {
    const sources = [config('chosen.json'), config(name)];
    await expect(open({ sources })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(name),
    });
  }
});

verifies('C5', 'refuses an unknown source, and sources beside `config` or `configFile`', async () => {
  const { open } = await machine();
  const unknown = ['standard', 'heddle.json', config, config(1 as never), { kind: 'cloud' }, null, undefined];
  for (const sources of [...unknown.map((one) => [standard, one]), 'standard', standard, null]) {
    await expect(open({ sources: sources as never })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  }
  for (const options of [{ config: {} }, { config: false as const }, { configFile: 'chosen.json' }]) {
    await expect(open({ ...options, sources: [standard] })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  }
});
