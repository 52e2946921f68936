import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { FAULTS, faultyServer } from '../../test/servers/faulty-server.ts';
import { HeddleError } from '../core/errors.ts';
import { aCall, aTarget } from '../core/fixtures.ts';
import { parking } from '../upstream/parking.ts';
import { openWorld } from './fixtures.ts';
import { invoke } from './invoke.ts';

const SERVERS = ['a', 'b', 'c'] as const;
const RUNS = process.env.HEDDLE_TEST_SCALE === 'full' ? 1000 : 100;
// Certainly not done: nobody was asked, or whoever was asked said no.
const UNDONE = ['UPSTREAM_UNREACHABLE', 'UPSTREAM_FAILED', 'UPSTREAM_REFUSED'];

const fault = fc.constantFrom(...FAULTS);
const someCalls = fc.array(
  fc.record({
    facts: fc.constantFrom({}, {}, { readOnly: true }, { idempotent: true }),
    faults: fc.record({ a: fault, b: fault, c: fault }),
    preferredServer: fc.constantFrom(...SERVERS),
    failover: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);
type SomeCall = typeof someCalls extends fc.Arbitrary<(infer T)[]> ? T : never;
const doors = fc.record({ a: fc.array(fc.boolean()), b: fc.array(fc.boolean()), c: fc.array(fc.boolean()) });

async function run(calls: readonly SomeCall[], open: Record<(typeof SERVERS)[number], boolean[]>) {
  const acted = new Map<number, number>();
  const connects = SERVERS.map((name) => {
    const onAct = ({ id }: { id?: unknown }) => acted.set(Number(id), (acted.get(Number(id)) ?? 0) + 1);
    return [name, faultyServer({ name, onAct, accepts: () => open[name].shift() ?? true })] as const;
  });
  const { servers } = await openWorld(Object.fromEntries(connects));
  const send = invoke(servers, parking());
  const answers = calls.map(async ({ facts, faults, preferredServer, failover }, id) => {
    const target = aTarget({ servers: SERVERS, name: 'act', facts });
    const options = { preferredServer, failover, timeoutMs: 25 };
    return send(aCall({ target, input: { id, faults }, options })).then(
      ({ kind }): string => kind,
      (thrown) => HeddleError.from(thrown).code,
    );
  });
  const outcomes = await Promise.all(answers);
  await servers.close();
  return outcomes.map((outcome, id) => ({ outcome, acted: acted.get(id) ?? 0 }));
}

function expectHonest(outcome: string, acted: number): void {
  expect(acted).toBeLessThanOrEqual(1);
  if (outcome === 'complete' || outcome === 'OUTCOME_UNKNOWN') return;
  expect(UNDONE).toContain(outcome);
  expect(acted).toBe(0);
}

verifies(
  'R4',
  'however servers fail, no write is done twice and every call has one honest answer',
  async () => {
    await fc.assert(
      fc.asyncProperty(someCalls, doors, async (calls, open) => {
        const outcomes = await run(calls, open);
        expect(outcomes).toHaveLength(calls.length);
        for (const [id, { outcome, acted }] of outcomes.entries()) {
          const isWrite = Object.keys(calls[id]?.facts ?? {}).length === 0;
          if (outcome === 'complete') expect(acted).toBeGreaterThanOrEqual(1);
          if (isWrite) expectHonest(outcome, acted);
          else expect(['complete', 'UPSTREAM_TIMEOUT', ...UNDONE]).toContain(outcome);
        }
      }),
      { numRuns: RUNS },
    );
  },
  300_000,
);
