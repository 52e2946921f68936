import { describe, expect, onTestFinished } from 'vitest';
import { DIALECTS, testPostgres } from '../../src/store/fixtures.ts';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { checkRuns, finishRuns, type KillPoint, killAt, killInClaim, ledgerStage } from './ledger-stage.ts';

/** The runs that begin with each kill, so that each point is ahead of some. Every seventh run fails, and is undone. */
const RUNS_PER_KILL = MEASURES ? 2 : 1;
const RUNS_WITH_UNDO = 7;
/** Beside those at named points: more than 100 in a soak run. */
const RANDOM_KILLS = MEASURES ? 100 : 2;
const CALLS_PER_RUN = 20;
/** A soak run kills for about half an hour on Postgres. */
const TIMEOUT_MS = MEASURES ? 7_200_000 : undefined;

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
    const survive = async () => {
      const database = await fresh();
      onTestFinished(() => database.remove());
      let stage = await ledgerStage(database.location, 0);
      const withMore = (runs: number) => {
        stage = { ...stage, runs: stage.runs + runs };
        return stage;
      };
      await killInClaim(withMore(RUNS_PER_KILL));
      for (const [name, isMeant] of Object.entries(POINTS)) {
        const runs = name.endsWith('compensation') ? RUNS_WITH_UNDO : RUNS_PER_KILL;
        expect([name, await killAt(withMore(runs), isMeant)]).toEqual([name, true]);
      }
      for (let kill = 0; kill < RANDOM_KILLS; kill++) {
        let calls = Math.floor(Math.random() * CALLS_PER_RUN);
        await killAt(withMore(RUNS_PER_KILL), () => calls-- === 0);
      }
      await finishRuns(stage);
      await checkRuns(stage);
    };
    verifies('W5', 'survive kills at named points and at random calls, and repeat no call', survive, TIMEOUT_MS);
  });
});
