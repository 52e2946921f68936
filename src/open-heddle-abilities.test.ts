import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { verifies } from '../test/requirements.ts';
import { ableServer } from '../test/servers/able-server.ts';
import type { Abilities, Caller } from './core/call.ts';
import { temporaryFolder } from './gateway/fixtures.ts';
import type { Heddle } from './heddle.ts';
import { type OpenOptions, openHeddle } from './open-heddle.ts';

const FORM: Abilities = { form: true, url: false, sampling: false, samplingTools: false, roots: false };
const PLAIN: Caller = { id: 'ann', roles: ['user'], via: 'gateway' };

async function opened(folder: string, options: OpenOptions): Promise<Heddle> {
  const heddle = await openHeddle({ cwd: folder, env: { HEDDLE_HOME: join(folder, 'home') }, ...options });
  onTestFinished(() => heddle.close());
  return heddle;
}

const namesFor = async (heddle: Heddle, by: Caller, waitMs?: number) =>
  (await heddle.catalog.list(by, { server: 'up', ...(waitMs !== undefined && { waitMs }) })).items.map(
    ({ name }) => name,
  );

describe('what a server lists only to those who can be asked', () => {
  verifies('T3', 'is remembered beside what it lists to everybody, whoever connected last', async () => {
    const folder = await temporaryFolder();
    const servers = { up: ableServer({ all: '', ask: 'elicitation' }) };
    const user = { principal: PLAIN.id, can: FORM };
    const listed: unknown[] = [];
    for (const options of [{ servers, user }, { servers }, { servers, user }]) {
      const heddle = await opened(folder, options);
      listed.push(await namesFor(heddle, PLAIN));
      await heddle.close();
    }
    const asleep = { up: { connect: () => new Promise<void>(() => {}) } };
    for (const options of [{ servers: asleep }, { servers: asleep, user }]) {
      const heddle = await opened(folder, options);
      listed.push(await namesFor(heddle, PLAIN, 0));
      await heddle.close();
    }
    expect(listed).toEqual([['all', 'ask'], ['all'], ['all', 'ask'], ['all'], ['all', 'ask']]);
  });
});
