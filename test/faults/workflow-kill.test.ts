import { describe, expect, onTestFinished } from 'vitest';
import { DIALECTS, testPostgres } from '../../src/store/fixtures.ts';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { checkRuns, finishRuns, type KillPoint, killAt, ledgerStage } from './ledger-stage.ts';

const RUNS = MEASURES ? 200 : 20;
/** Beside those at named points: more than 100 in a soak run. */
const RANDOM_KILLS = MEASURES ? 100 : 2;
const CALLS_PER_KILL = RUNS * 2;

/** In the order of the steps, so that each is still ahead of some run. */
const POINTS: Readonly<Record<string, KillPoint>> = {
  'after an intent': (point, { tool, key }) => point === 'received' && tool === 'act' && key.endsWith('/group'),
  'in a race': (point, { key }) => point === 'entered' && key.endsWith('/left'),
  'after a request': (point, { tool, key }) => point === 'entered' && tool === 'act' && key.endsWith('/items/1'),
  'after a response': (point, { tool, key }) => point === 'answered' && tool === 'act' && key.endsWith('/rounds/0'),
  'in a nested run': (point, { key }) => point === 'entered' && key.endsWith('/nested'),
  'in code': (point, { key }) => point === 'entered' && key.endsWith('/script'),
  'in a compensation': (point, { tool }) => point === 'entered' && tool === 'undo',
  'after a compensation': (point, { tool }) => point === 'answered' && tool === 'undo',
};

// On Postgres each restart waits for the leases of the killed process, 9 s: too long for a short run.
const MEASURED = DIALECTS.filter(({ dialect }) => dialect === 'sqlite' || MEASURES);

describe.each(MEASURED)('on $dialect', ({ dialect, fresh }) => {
  describe.skipIf(dialect === 'postgres' && !testPostgres)('runs with every type of step', () => {
    verifies('W5', 'survive kills at named points and at random calls, and repeat no call', async () => {
      const database = await fresh();
      onTestFinished(() => database.remove());
      const stage = await ledgerStage(database.location, RUNS);
      for (const [name, isMeant] of Object.entries(POINTS))
        expect([name, await killAt(stage, isMeant)]).toEqual([name, true]);
      for (let kill = 0; kill < RANDOM_KILLS; kill++) {
        let calls = Math.floor(Math.random() * CALLS_PER_KILL);
        await killAt(stage, () => calls-- === 0);
      }
      await finishRuns(stage);
      await checkRuns(stage);
    });
  });
});
