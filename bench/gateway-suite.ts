import {
  type Amount,
  BASELINES,
  CANDIDATES,
  type Candidate,
  type Measurement,
  measureGateway,
  type UpstreamKind,
} from './measure-gateway.ts';
import { median, type Ratio, ratioOf, showRatio, table } from './ratios.ts';

export interface GatewaySuite extends Amount {
  readonly kind: UpstreamKind;
  readonly reps: number;
  /** The names of the candidates to measure; the baseline is always measured too. */
  readonly only: readonly string[] | undefined;
}

export interface GatewayResult {
  readonly name: string;
  readonly measurements: readonly Measurement[];
  readonly ratios: Readonly<Record<keyof Measurement, Ratio>>;
}

const FIGURES: Readonly<Record<keyof Measurement, string>> = {
  callsPerSecond: 'calls/s',
  cpuPerCall: 'CPU per call',
  p50Ms: 'p50',
  p99Ms: 'p99',
  idleMegabytes: 'RSS idle',
  loadedMegabytes: 'RSS loaded',
};
const KEYS = Object.keys(FIGURES) as (keyof Measurement)[];

/** Measures the candidates in turn in each repetition, so that compared measurements are close in time. */
export async function runGatewaySuite(suite: GatewaySuite): Promise<readonly GatewayResult[]> {
  const { kind, reps, only } = suite;
  const candidates = CANDIDATES.filter(
    (one) => one.kind === kind && (!only || only.includes(one.name) || one.name === BASELINES[kind]),
  );
  const measured = new Map<Candidate, Measurement[]>(candidates.map((candidate) => [candidate, []]));
  for (let rep = 1; rep <= reps; rep++) {
    for (const [candidate, measurements] of measured) {
      const measurement = await measureGateway(candidate, suite);
      measurements.push(measurement);
      process.stderr.write(
        `${kind} ${rep}/${reps} ${candidate.name}: ${Math.round(measurement.callsPerSecond)} calls/s, ` +
          `${Math.round(measurement.cpuPerCall)} µs CPU per call\n`,
      );
    }
  }
  const baseline = [...measured].find(([{ name }]) => name === BASELINES[kind])?.[1] ?? [];
  const columns = (measurements: readonly Measurement[], key: keyof Measurement) => measurements.map((one) => one[key]);
  return [...measured].map(([{ name }, measurements]) => {
    const ratio = (key: keyof Measurement) => ratioOf(columns(measurements, key), columns(baseline, key));
    const ratios = Object.fromEntries(KEYS.map((key) => [key, ratio(key)])) as GatewayResult['ratios'];
    return { name, measurements, ratios };
  });
}

export function showGatewaySuite(kind: UpstreamKind, results: readonly GatewayResult[]): string {
  const head = ['', ...KEYS.map((key) => `${FIGURES[key]} ratio`)];
  const ratios = results.map(({ name, ratios }) => [name, ...KEYS.map((key) => showRatio(ratios[key]))]);
  const numbers = results.map(({ name, measurements }) => [
    name,
    ...KEYS.map((key) => median(measurements.map((one) => one[key])).toFixed(key.endsWith('Ms') ? 2 : 0)),
  ]);
  return [
    `\n${kind} upstream: ratio to ${BASELINES[kind]} in the same repetition, median (lowest–highest)\n`,
    table([head, ...ratios]),
    '\nContext only, this machine at this moment: calls/s, µs, ms, ms, MB, MB (medians)\n',
    table([['', ...Object.values(FIGURES)], ...numbers]),
  ].join('');
}
