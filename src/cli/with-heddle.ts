import { existsSync } from 'node:fs';
import { HeddleError } from '../core/errors.ts';
import { gatewayNote, homeFolder } from '../files/home-folder.ts';
import type { Heddle } from '../heddle.ts';
import type { HeddleOptions } from '../open-heddle.ts';
import { type Input, KEY_VARIABLE } from './command.ts';
import { type CommandHeddle, localCommandHeddle } from './command-heddle.ts';
import { terminalUser } from './local-caller.ts';
import { printError } from './print/print-error.ts';
import { notice } from './print/print-line.ts';
import { isKeyGiven, readGivenKey } from './remote/given-key.ts';
import type { RunningHeddle } from './remote/open-running.ts';

/** Opens Heddle for one command of the user at this terminal, and closes it afterwards. */
export async function withHeddle<T>(options: HeddleOptions, use: (heddle: Heddle) => Promise<T>): Promise<T> {
  const { openHeddle } = await import('../open-heddle.ts');
  const heddle = await openHeddle({ user: terminalUser(), ...options });
  try {
    return await use(heddle);
  } finally {
    // A failed close is printed in addition to the command's own result, and does not replace it.
    await heddle.close().catch((thrown) => printError(thrown, false));
  }
}

/**
 * Gives `use` the Heddle of a running gateway of the same configuration, else one that is opened for this command.
 * With `--local`, and for a server given on the command line, always the latter. A command with an API key uses a running
 * gateway or throws.
 */
export async function withRunningHeddle<T>(
  input: Input,
  options: HeddleOptions,
  use: (heddle: CommandHeddle) => Promise<T>,
): Promise<T> {
  const isLocal = input.flag('local') || options.servers !== undefined;
  if (isLocal && isKeyGiven(input)) throw notAsKey(input);
  if (isLocal && input.flag('verbose'))
    notice(`Servers are started here${input.flag('local') ? ', because of --local' : ''}.`);
  const running = isLocal ? undefined : await findRunning(input, options);
  if (!running) return withHeddle(options, (heddle) => use(localCommandHeddle(heddle)));
  try {
    return await use(running.heddle);
  } finally {
    running.close();
  }
}

/** Connects to a running gateway of the same configuration, if there is one. The caller closes the connection. */
export async function findRunning(input: Input, options: HeddleOptions): Promise<RunningHeddle | undefined> {
  const key = await readGivenKey(input);
  // Most commands run without a gateway: they load nothing of it.
  if (!key && !input.flag('verbose') && !existsSync(gatewayNote(homeFolder(process.env)))) return undefined;
  const { openRunning } = await import('./remote/open-running.ts');
  return openRunning(input, { user: terminalUser(), ...options }, key);
}

/** Returns the error of a command that would start servers itself. Only the gateway checks keys. */
const notAsKey = (input: Input): HeddleError =>
  input.flag('local')
    ? new HeddleError('USAGE_INVALID', '--local and an API key exclude each other: a key acts through a gateway.', {
        fix: `Leave out --local, or --key and ${KEY_VARIABLE}.`,
      })
    : new HeddleError('USAGE_INVALID', 'A server that is given on the command line cannot run as an API key.', {
        fix: 'Add it to the configuration of the gateway with `heddle add`.',
      });

/** Returns the options for `--config FILE` and `--trust-project`. */
export function openOptions(input: Input): HeddleOptions {
  const configFile = input.text('config');
  return {
    ...(configFile !== undefined && { configFile }),
    ...(input.flag('trust-project') && { trustProject: true }),
  };
}
