import { median, type Ratio, ratioOf } from './ratios.ts';

export interface BuiltinResult {
  readonly job: string;
  readonly name: string;
  /** Calls per second, compared with the first candidate in the same repetition. */
  readonly rate: Ratio;
  readonly median: number;
}

interface Work {
  readonly job: string;
  readonly times: number;
  readonly reps: number;
  /** How many calls run at once. */
  readonly inFlight: number;
  /** The first is the baseline. */
  readonly candidates: readonly { readonly name: string; readonly run: () => Promise<unknown> }[];
}

/** Measures the candidates in turn, so that a change of the machine's load meets all of them. */
export async function measureInTurn({ job, times, reps, inFlight, candidates }: Work): Promise<BuiltinResult[]> {
  const measured = candidates.map((candidate) => ({ ...candidate, rates: [] as number[] }));
  for (const { run } of measured) await run(); // Warms up.
  for (let rep = 1; rep <= reps; rep++) {
    for (const { name, run, rates } of measured) {
      rates.push(await rateOf(run, times, inFlight));
      process.stderr.write(`builtin ${rep}/${reps} ${job}, ${name}: ${rates.at(-1)?.toFixed(1)} calls/s\n`);
    }
  }
  const baseline = measured[0]?.rates ?? [];
  return measured.map(({ name, rates }) => ({ job, name, rate: ratioOf(rates, baseline), median: median(rates) }));
}

/** Returns the calls per second of `times` calls, of which some are in flight at once. */
async function rateOf(run: () => Promise<unknown>, times: number, inFlight: number): Promise<number> {
  let left = times;
  const worker = async () => {
    while (left-- > 0) await run();
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: Math.min(inFlight, times) }, worker));
  return (times * 1000) / (performance.now() - startedAt);
}
