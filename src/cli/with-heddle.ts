import type { Heddle } from '../heddle.ts';
import { type HeddleOptions, openHeddle } from '../open-heddle.ts';
import type { Input } from './command.ts';
import { printError } from './print/print-error.ts';

/** Opens Heddle for the length of one command, and leaves nothing of it behind. */
export async function withHeddle<T>(options: HeddleOptions, use: (heddle: Heddle) => Promise<T>): Promise<T> {
  const heddle = await openHeddle(options);
  try {
    return await use(heddle);
  } finally {
    // What was asked has its answer by now. What closing could not save is said beside it, never instead of it.
    await heddle.close().catch((thrown) => printError(thrown, false));
  }
}

/** What every command takes: `--config FILE` and `--trust-project`. */
export function openOptions(input: Input): HeddleOptions {
  const configFile = input.text('config');
  return {
    ...(configFile !== undefined && { configFile }),
    ...(input.flag('trust-project') && { trustProject: true }),
  };
}
