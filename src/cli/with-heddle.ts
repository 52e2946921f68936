import type { Heddle } from '../heddle.ts';
import type { HeddleOptions } from '../open-heddle.ts';
import type { Input } from './command.ts';
import { type CommandHeddle, localCommandHeddle } from './command-heddle.ts';
import { printError } from './print/print-error.ts';

/** Opens Heddle for one command and closes it afterwards. */
export async function withHeddle<T>(options: HeddleOptions, use: (heddle: Heddle) => Promise<T>): Promise<T> {
  const { openHeddle } = await import('../open-heddle.ts');
  const heddle = await openHeddle(options);
  try {
    return await use(heddle);
  } finally {
    // A failed close is printed in addition to the command's own result, and does not replace it.
    await heddle.close().catch((thrown) => printError(thrown, false));
  }
}

/** Gives `use` the Heddle of a running gateway of the same configuration, else one that is opened for this command. */
export async function withRunningHeddle<T>(
  _input: Input,
  options: HeddleOptions,
  use: (heddle: CommandHeddle) => Promise<T>,
): Promise<T> {
  return withHeddle(options, (heddle) => use(localCommandHeddle(heddle)));
}

/** Returns the options for `--config FILE` and `--trust-project`. */
export function openOptions(input: Input): HeddleOptions {
  const configFile = input.text('config');
  return {
    ...(configFile !== undefined && { configFile }),
    ...(input.flag('trust-project') && { trustProject: true }),
  };
}
