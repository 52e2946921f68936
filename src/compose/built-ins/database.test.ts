import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { machineWith } from '../../config/fixtures.ts';
import { openWatchdog } from '../../process/watchdog.ts';
import { builtInDatabase } from './database.ts';

/** Returns the name by which approvals know the server of a connection. */
async function nameWith(connection: object): Promise<string> {
  const machine = await machineWith({
    'project/heddle.json': { builtins: { database: { connections: [connection] } } },
  });
  const config = await machine.load();
  const parts = { config: () => config, home: '/h', storeLocation: ':memory:', env: {}, watchdog: openWatchdog() };
  const { entry } = builtInDatabase(parts).configOf(config) ?? {};
  return entry?.type === 'sdk' ? entry.name : '';
}

verifies(
  'B2',
  'is another server for approvals when a connection leads elsewhere, but not with a new password',
  async () => {
    const one = {
      name: 'shop',
      type: 'mysql',
      host: 'db',
      port: 3306,
      database: 'shop',
      username: 'u',
      password: 'hunter2',
    };
    const name = await nameWith(one);
    expect(name).toMatch(/^database [0-9a-f]{64}$/);
    expect(await nameWith({ ...one, password: 'hunter3' })).toBe(name);
    for (const changed of [
      { host: 'b' },
      { port: 1 },
      { database: 'b' },
      { username: 'b' },
      { ssl: true },
      { allowFunctions: ['f'] },
    ]) {
      expect.soft(await nameWith({ ...one, ...changed }), JSON.stringify(changed)).not.toBe(name);
    }
    const withUrl = (url: string) => nameWith({ name: 'shop', type: 'postgres', url });
    const named = await withUrl('postgres://u:hunter2@db:1/shop');
    expect(await withUrl('postgres://u:hunter3@db:1/shop')).toBe(named);
    for (const url of [
      'postgres://u:hunter2@b:1/shop',
      'postgres://u:hunter2@db:2/shop',
      'postgres://u:hunter2@db:1/b',
      'postgres://b:hunter2@db:1/shop',
    ]) {
      expect.soft(await withUrl(url), url).not.toBe(named);
    }
  },
);
