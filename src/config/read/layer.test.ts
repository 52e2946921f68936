import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Config } from '../config.ts';
import { machineWith } from '../fixtures.ts';

async function own(content: object | string): Promise<Config> {
  return (await machineWith({ 'project/heddle.json': content })).load();
}
async function foreign(content: object | string): Promise<Config> {
  return (await machineWith({ 'project/.mcp.json': content })).load();
}
const messagesOf = ({ problems }: Config) => problems.map(({ level, message, fix }) => `${level}: ${message} ${fix}`);

describe('a setting', () => {
  verifies('C1', 'is an error with a suggestion if its name is unknown', async () => {
    const config = await own({ gatway: {}, gateway: { prot: 1, port: 2 }, zzz: 1 });
    expect(messagesOf(config)).toEqual([
      'error: `gateway.prot` is not a name Heddle knows. Did you mean `port`?',
      'error: `gatway` is not a name Heddle knows. Did you mean `gateway`?',
      'error: `zzz` is not a name Heddle knows. Remove `zzz`.',
    ]);
    expect(config.settings.gateway.port).toBe(2);
  });

  it('is dropped alone if it is invalid', async () => {
    const config = await own({ gateway: { port: 'x', host: 'h' }, connect: 5, store: 'mysql://h/db', mcpServers: [] });
    expect(config.settings.gateway).toMatchObject({ port: 7433, host: 'h' });
    expect(config.settings.connect.localConcurrency).toBe(3);
    expect(config.settings.store).toBeUndefined();
    expect(messagesOf(config)).toEqual([
      'error: `mcpServers` must be an object, not an array. Correct the value.',
      'error: `connect` must be an object, not a number. Correct the value.',
      'error: `gateway.port` must be a number, not a string. Correct the value.',
      'error: `store` must be a path or a postgres:// URL. Correct the value.',
    ]);
  });

  it.each([
    { mode: 'strcit' },
    { mode: 'open', permissions: { denny: ['x'] } },
    { permissions: { deny: 'x' }, mode: 'open' },
  ])('falls back to mode strict if permissions are invalid: %j', async (content) => {
    const config = await own(content);
    expect(config.settings.mode).toBe('strict');
    expect(messagesOf(config)[0]).toContain('Until it is corrected, every external tool needs an approval.');
  });

  it('disables the file tools if it is an invalid setting of theirs', async () => {
    const config = await own({ builtins: { filesystem: { enabled: true, allowedPaths: ['${NOPE}'] } } });
    expect(config.settings.builtins.filesystem.enabled).toBe(false);
    expect(config.problems).toMatchObject([{ code: 'VARIABLE_UNSET', at: { line: 6 } }]);
  });

  it('keeps a postgres URL as it is', async () => {
    const { settings } = await own({ store: 'postgres://u:p@h/db' });
    expect(settings.store).toBe('postgres://u:p@h/db');
  });
});

describe('.mcp.json', () => {
  const entry = { command: 'x' };

  verifies('C1', 'is read nested or bare', async () => {
    for (const content of [{ mcpServers: { a: entry } }, { a: entry }]) {
      const { servers, problems } = await foreign(content);
      expect(problems).toEqual([]);
      expect([...servers.keys()]).toEqual(['a']);
    }
  });

  verifies('C1', 'may have unknown names', async () => {
    const config = await foreign({
      mode: 'open',
      inputs: [],
      mcpServers: { a: { ...entry, envFile: 'f', oauth: {} } },
    });
    expect(config.settings.mode).toBe('guarded');
    expect(config.servers.get('a')?.entry).toMatchObject(entry);
    expect(config.servers.get('a')?.problem).toBeUndefined();
    expect(config.problems.map(({ level, server }) => [level, server])).toEqual([
      ['warn', 'a'],
      ['warn', 'a'],
    ]);
  });

  it('is an error if it has invalid values', async () => {
    const config = await foreign({ mcpServers: { a: { ...entry, envFile: 'f', args: 5 } } });
    expect(config.problems.map(({ level }) => level)).toEqual(['warn', 'error']);
    expect(config.servers.get('a')?.problem).toMatchObject({ level: 'error' });
  });

  it('is reported if it has no map of servers', async () => {
    expect((await foreign({})).problems).toEqual([]);
    expect((await foreign({ a: entry, b: {} })).problems).toMatchObject([{ level: 'warn' }]);
    expect((await foreign({ mcpServers: [] })).problems).toMatchObject([{ level: 'error' }]);
  });
});
