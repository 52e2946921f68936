import type { Caller } from '../core/call.ts';
import type { Heddle } from '../heddle.ts';

/** The part of Heddle that commands use, in this process or in a running gateway. */
export interface CommandHeddle extends Pick<Heddle, 'dispatch' | 'configuration'> {
  readonly catalog: Pick<Heddle['catalog'], 'list' | 'describe' | 'search' | 'categories' | 'hiddenBy'>;
  readonly servers: Pick<Heddle['servers'], 'list' | 'connect'>;
  /** Reads the names of the servers that are starting, after each change. */
  starting(by: Caller, signal: AbortSignal): AsyncIterable<readonly string[]>;
}

/** Returns the part that commands use of a Heddle in this process. */
export function localCommandHeddle(heddle: Heddle): CommandHeddle {
  const { dispatch, catalog, servers } = heddle;
  return {
    dispatch,
    catalog,
    servers,
    configuration: (by) => heddle.configuration(by),
    async *starting(by, signal) {
      const { startingServers } = await import('../console/starting-servers.ts');
      yield* startingServers(heddle, by, signal);
    },
  };
}
