import type { Caller } from '../core/call.ts';
import type { Runs, Workflows } from '../core/records/workflow-api.ts';
import type { Approvals, Heddle } from '../heddle.ts';

/** The part of Heddle that commands use, in this process or in a running gateway. */
export interface CommandHeddle extends Pick<Heddle, 'dispatch' | 'configuration'> {
  readonly catalog: Pick<Heddle['catalog'], 'list' | 'describe' | 'known' | 'search' | 'categories' | 'hiddenBy'>;
  readonly servers: Pick<Heddle['servers'], 'list' | 'connect'>;
  /** The approvals that calls of this command wait for. */
  readonly approvals: Pick<Approvals, 'get' | 'decide' | 'settled'>;
  readonly workflows: Pick<Workflows, 'list' | 'get' | 'lint' | 'plan' | 'toMermaid'>;
  readonly runs: Runs;
  /** Reads the names of the servers that are starting, after each change. */
  starting(by: Caller, signal: AbortSignal): AsyncIterable<readonly string[]>;
}

/** Returns the part that commands use of a Heddle in this process. */
export function localCommandHeddle(heddle: Heddle): CommandHeddle {
  const { dispatch, catalog, servers, approvals, workflows, runs } = heddle;
  return {
    dispatch,
    catalog,
    servers,
    approvals,
    workflows,
    runs,
    configuration: (by) => heddle.configuration(by),
    async *starting(by, signal) {
      const { startingServers } = await import('../console/starting-servers.ts');
      yield* startingServers(heddle, by, signal);
    },
  };
}
