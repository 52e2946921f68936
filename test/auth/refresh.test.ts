import { describe, expect, onTestFinished } from 'vitest';
import { freshPostgres, testPostgres } from '../../src/store/fixtures.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Grant } from '../../src/store/token-vault.ts';
import { TOKEN_LEASE_MS } from '../../src/upstream/auth/token-lease.ts';
import { verifies } from '../requirements.ts';
import { signInDirectly } from '../servers/sign-in-directly.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { callingProcess } from './call-in-processes.ts';
import { protectedSetup } from './send-with-credential.ts';

const HOUR = 3_600_000;
const isFull = process.env.HEDDLE_TEST_SCALE === 'full';
const REFRESHES = isFull ? 1000 : 10;
const REFRESHES_ON_POSTGRES = isFull ? 100 : 3;
const KILLS = isFull ? 50 : 3;
const LIMIT_MS = 600_000;
const whoami = expect.stringContaining('"text":"ada"');

/** Signs in to a protected server, for all processes with the returned home. */
async function signedInHome(era: 'legacy' | 'modern' = 'modern', database?: string) {
  const { as, server } = await protectedSetup({ era });
  const home = await temporaryFolder();
  async function signIn(): Promise<Grant> {
    const store = await openStore({ location: database ?? `${home}/heddle.sqlite`, home, env: {} });
    const grant = await signInDirectly({ as, server, store });
    await store.close();
    return grant;
  }
  await signIn();
  const start = () => callingProcess(home, server.url, database);
  return { as, server, home, signIn, start };
}

for (const era of ['modern', 'legacy'] as const) {
  verifies(
    'A3',
    `makes one token request for 100 concurrent calls with an expired token (${era})`,
    async () => {
      const { as, start } = await signedInHome(era);
      const one = await start();
      const before = as.counts.token;
      const outcome = await one.call({ calls: 100, offsetMs: HOUR });
      expect(outcome?.results).toEqual(Array.from({ length: 100 }, () => whoami));
      expect(as.counts.token - before).toBe(1);
      await one.close();
    },
    LIMIT_MS,
  );
}

/** Lets four processes call after each of `expiries` expiries of their token, and counts the token requests. */
async function refreshTogether(expiries: number, database?: string): Promise<void> {
  const { as, start } = await signedInHome('modern', database);
  const processes = await Promise.all(Array.from({ length: 4 }, start));
  const before = as.counts.token;
  for (let round = 1; round <= expiries; round++) {
    const calls = round === 1 ? 25 : 1;
    const outcomes = await Promise.all(processes.map((one) => one.call({ calls, offsetMs: round * HOUR })));
    const results = outcomes.flatMap((outcome) => outcome?.results ?? []);
    expect(results).toEqual(Array.from({ length: 4 * calls }, () => whoami));
    expect(as.counts.token - before).toBe(round);
  }
  await Promise.all(processes.map((one) => one.close()));
}

verifies(
  'A3',
  `makes one token request per expiry for four processes, ${REFRESHES} times with a grant that reuse revokes`,
  () => refreshTogether(REFRESHES),
  LIMIT_MS,
);

describe.skipIf(!testPostgres)('four replicas on Postgres', () => {
  verifies(
    'A3',
    'make one token request per expiry',
    async () => {
      const database = await freshPostgres();
      onTestFinished(() => database.remove());
      await refreshTogether(REFRESHES_ON_POSTGRES, database.location);
    },
    LIMIT_MS,
  );
});

/** Returns numbers from 0 to 1, the same in every run. */
function* randomNumbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

verifies(
  'A3',
  `recovers from SIGKILL at ${KILLS} random points of a refresh with one token request and at most one sign-in`,
  async () => {
    const { as, signIn, start } = await signedInHome();
    const whole = await (await start()).call({ offsetMs: HOUR });
    expect(whole?.results).toEqual([whoami]);
    const random = randomNumbers(20_261_117);
    const ends = { again: 0, needed: 0, finished: 0 };
    for (let kill = 0; kill < KILLS; kill++) {
      await signIn();
      const killAt = 1 + Math.floor(random.next().value * (whole?.operations ?? 1));
      const killed = await start();
      if (await killed.call({ offsetMs: HOUR, killAt })) ends.finished++;
      const before = as.counts.token;
      const restarted = await start();
      // The clock is past the end of the lease that the killed process held.
      const offsetMs = HOUR + TOKEN_LEASE_MS + 1;
      const [first] = (await restarted.call({ offsetMs }))?.results ?? [];
      // The need is remembered in the store, so that a third process sends no token request either.
      const next = first === 'AUTH_NEEDED' ? await start() : restarted;
      const [second] = (await next.call({ offsetMs }))?.results ?? [];
      const results = [first, second];
      expect(as.counts.token - before, `killed at ${killAt}: ${results}`).toBeLessThanOrEqual(1);
      if (first === 'AUTH_NEEDED') {
        ends.needed++;
        expect(second).toBe('AUTH_NEEDED');
      } else {
        ends.again++;
        expect(results, `killed at ${killAt}`).toEqual([whoami, whoami]);
      }
      await restarted.close();
    }
    expect(ends.again + ends.needed).toBe(KILLS);
    expect(ends.finished).toBeLessThan(KILLS);
  },
  LIMIT_MS,
);
