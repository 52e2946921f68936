import type { Caller } from '../core/call.ts';
import type { ServerStatus } from '../core/records/server-status.ts';
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
    starting: (by, signal) => startingServers(heddle, by, signal),
  };
}

const isStarting = ({ state, attempt: [attempt] }: ServerStatus) => state === 'pending' && attempt > 0;

/** Reads the names of the servers that are starting, after each change of a server. */
export async function* startingServers(
  heddle: Pick<Heddle, 'changes' | 'servers'>,
  by: Caller,
  signal: AbortSignal,
): AsyncIterable<readonly string[]> {
  for await (const { kind } of heddle.changes(by, signal)) {
    if (kind !== 'server') continue;
    const names = (await heddle.servers.list(by)).filter(isStarting).map(({ name }) => name);
    if (signal.aborted) return;
    yield names;
  }
}
