import fc from 'fast-check';
import { expect } from 'vitest';
import { openWorld, someMetrics } from '../../src/catalog/fixtures.ts';
import { invoke } from '../../src/catalog/routing/invoke.ts';
import { HeddleError } from '../../src/core/errors.ts';
import { aCall, aTarget } from '../../src/core/fixtures.ts';
import { fakeTime } from '../../src/upstream/fixtures.ts';
import { verifies } from '../requirements.ts';
import { FAULTS, faultyServer } from '../servers/faulty-server.ts';

const SERVERS = ['a', 'b', 'c'] as const;
const RUNS = process.env.HEDDLE_TEST_SCALE === 'full' ? 2000 : 200;
// Certainly not done: no server was called, or the server refused.
const UNDONE = ['UPSTREAM_UNREACHABLE', 'UPSTREAM_FAILED', 'UPSTREAM_REFUSED', 'RATE_LIMITED'];

const fault = fc.constantFrom(...FAULTS);
const someCall = fc.record({
  facts: fc.constantFrom(
    {},
    { hedgeAfterMs: 5 },
    { readOnly: true },
    { idempotent: true },
    { readOnly: true, hedgeAfterMs: 5 },
  ),
  faults: fc.record({ a: fault, b: fault, c: fault }),
  preferredServer: fc.constantFrom(...SERVERS),
  failover: fc.boolean(),
  isCancelled: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
});
type SomeCall = typeof someCall extends fc.Arbitrary<infer T> ? T : never;

/** Calls made at once, and how much time passes before the next ones are. */
const schedule = fc.array(
  fc.record({
    calls: fc.array(someCall, { minLength: 1, maxLength: 6 }),
    thenMs: fc.constantFrom(0, 0, 1000, 11_000, 31_000),
  }),
  { minLength: 1, maxLength: 5 },
);
type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;
const doors = fc.record({ a: fc.array(fc.boolean()), b: fc.array(fc.boolean()), c: fc.array(fc.boolean()) });
const isWrite = ({ facts }: SomeCall) => !('readOnly' in facts || 'idempotent' in facts);

interface Ended {
  readonly call: SomeCall;
  readonly outcome: string;
  /** How often the tool really ran for it. */
  readonly acted: number;
}

async function run(rounds: Schedule, open: Record<(typeof SERVERS)[number], boolean[]>): Promise<readonly Ended[]> {
  const acted = new Map<number, number>();
  const onAct = ({ id }: { id?: unknown }) => void acted.set(Number(id), (acted.get(Number(id)) ?? 0) + 1);
  const connects = SERVERS.map(
    (name) => [name, faultyServer({ name, onAct, accepts: () => open[name].shift() ?? true })] as const,
  );
  const { servers } = await openWorld(Object.fromEntries(connects));
  const time = fakeTime();
  let spent = 0;
  const admitTo = () => (++spent % 7 === 0 ? new HeddleError('RATE_LIMITED', 'Not now.') : undefined);
  const { clock } = time;
  const send = invoke({ servers, metrics: someMetrics(), clock, admitTo });
  const outcomes: { readonly call: SomeCall; readonly outcome: string }[] = [];

  async function make(call: SomeCall, id: number): Promise<void> {
    const { facts, faults, preferredServer, failover, isCancelled } = call;
    const target = aTarget({ servers: SERVERS, name: 'act', facts });
    const options = { preferredServer, failover, timeoutMs: 25 };
    const abort = new AbortController();
    const sent = send(aCall({ target, input: { id, faults }, options, signal: abort.signal }));
    if (isCancelled) setTimeout(() => abort.abort(), 2);
    const outcome = await sent.then(
      ({ kind }): string => kind,
      (thrown) => HeddleError.from(thrown).code,
    );
    outcomes[id] = { call, outcome };
  }

  let made = 0;
  for (const { calls, thenMs } of rounds) {
    await Promise.all(calls.map((call) => make(call, made++)));
    time.pass(thenMs);
  }
  await servers.close();
  return outcomes.map((ended, id) => ({ ...ended, acted: acted.get(id) ?? 0 }));
}

function expectHonest({ call, outcome, acted }: Ended): void {
  const cancelled = call.isCancelled ? ['CALL_CANCELLED'] : [];
  if (outcome === 'complete') expect(acted).toBeGreaterThanOrEqual(1);
  if (!isWrite(call)) {
    expect(['complete', 'UPSTREAM_TIMEOUT', ...UNDONE, ...cancelled]).toContain(outcome);
    return;
  }
  expect(acted).toBeLessThanOrEqual(1);
  if (UNDONE.includes(outcome)) expect(acted).toBe(0);
  else expect(['complete', 'OUTCOME_UNKNOWN', ...cancelled]).toContain(outcome);
}

verifies(
  'R4',
  'no write is done twice and every call has one correct result, however servers fail',
  async () => {
    await fc.assert(
      fc.asyncProperty(schedule, doors, async (rounds, open) => {
        const ends = await run(rounds, open);
        expect(ends).toHaveLength(rounds.flatMap(({ calls }) => calls).length);
        for (const end of ends) expectHonest(end);
      }),
      { numRuns: RUNS },
    );
  },
  300_000,
);
