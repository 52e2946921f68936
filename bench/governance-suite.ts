import { join } from 'node:path';
import { type Amount, type Candidate, HEDDLE, heddleOf, type Measurement, measureGateway } from './measure-gateway.ts';
import { median, type Ratio, ratioOf, showRatio, table } from './ratios.ts';

export interface GovernanceResult {
  readonly name: string;
  readonly baseline: string;
  readonly ratios: Readonly<Record<keyof Measurement, Ratio>>;
  readonly medians: Readonly<Record<keyof Measurement, number>>;
}

const FIGURES = ['callsPerSecond', 'cpuPerCall', 'p50Ms', 'p99Ms', 'idleMegabytes', 'loadedMegabytes'] as const;
const POLICIES = Array.from({ length: 20 }, (_, at) => ({
  name: `rule-${at}`,
  effect: at < 2 ? 'deny' : 'ask',
  ...(at < 2
    ? { tools: ['mcp__upstream__echo'], when: `has(args.message) && args.message == "refused ${at}"` }
    : { when: `tool.name == "mcp__upstream__other${at}" && "operator" in caller.roles` }),
  reason: 'Measured.',
}));

const stdio = (name: string, more: Partial<Candidate> = {}): Candidate => ({
  name,
  kind: 'stdio',
  args: heddleOf(HEDDLE),
  ...more,
});

/** Each with the candidate that it is compared with. `BENCH_BEFORE` names a clone of an earlier commit. */
const PAIRS: readonly { readonly candidate: Candidate; readonly baseline: string }[] = [
  ...(process.env.BENCH_BEFORE
    ? [{ candidate: stdio('before', { args: heddleOf(process.env.BENCH_BEFORE) }), baseline: 'before' }]
    : []),
  { candidate: stdio('heddle'), baseline: process.env.BENCH_BEFORE ? 'before' : 'heddle' },
  { candidate: stdio('20 policies', { settings: { policies: POLICIES } }), baseline: 'heddle' },
  {
    candidate: stdio('no audit', { nodeFlags: ['--import', join(import.meta.dirname, 'without-audit.ts')] }),
    baseline: 'no audit',
  },
  { candidate: stdio('audit'), baseline: 'no audit' },
];

/** Measures what policies and audit records cost, in turn in each repetition. */
export async function runGovernanceSuite(
  suite: Amount & { readonly reps: number },
): Promise<readonly GovernanceResult[]> {
  const measured = new Map<string, Measurement[]>(PAIRS.map(({ candidate }) => [candidate.name, []]));
  for (let rep = 1; rep <= suite.reps; rep++) {
    for (const { candidate } of PAIRS) {
      const measurement = await measureGateway(candidate, suite);
      measured.get(candidate.name)?.push(measurement);
      process.stderr.write(
        `governance ${rep}/${suite.reps} ${candidate.name}: ${Math.round(measurement.callsPerSecond)} calls/s, ` +
          `${Math.round(measurement.cpuPerCall)} µs CPU per call\n`,
      );
    }
  }
  const column = (name: string, key: keyof Measurement) => (measured.get(name) ?? []).map((one) => one[key]);
  const each = <T>(compute: (key: keyof Measurement) => T) =>
    Object.fromEntries(FIGURES.map((key) => [key, compute(key)])) as Record<keyof Measurement, T>;
  return PAIRS.map(({ candidate: { name }, baseline }) => ({
    name,
    baseline,
    ratios: each((key) => ratioOf(column(name, key), column(baseline, key))),
    medians: each((key) => median(column(name, key))),
  }));
}

export function showGovernanceSuite(results: readonly GovernanceResult[]): string {
  const rows = results
    .filter(({ name, baseline }) => name !== baseline)
    .map(({ name, baseline, ratios }) => [name, baseline, ...FIGURES.map((key) => showRatio(ratios[key]))]);
  const numbers = results.map(({ name, medians }) => [name, ...FIGURES.map((key) => medians[key].toFixed(2))]);
  return [
    '\nGovernance: ratio to the second column in the same repetition, median (lowest–highest)\n',
    table([['', 'compared with', ...FIGURES], ...rows]),
    '\nContext only, this machine at this moment (medians)\n',
    table([['', ...FIGURES], ...numbers]),
  ].join('');
}
