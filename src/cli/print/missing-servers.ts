import type { Caller } from '../../core/call.ts';
import { isEarlierFailure, type ServerStatus } from '../../core/records/server-status.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import type { HeddleOptions } from '../../open-heddle.ts';
import type { Input, Option } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { visibleServers } from '../remote/visible-servers.ts';
import { openOptions } from '../with-heddle.ts';
import { notice, printStatement, transientNotice } from './print-line.ts';
import { RECENT_FAILURE_MS, stateOf, withFailureAge } from './state-label.ts';

export const NO_WAIT_OPTION: Option = {
  type: 'boolean',
  help: 'Start no server; show what is known and which servers are missing',
};

export const FRESH_OPTION: Option = {
  type: 'boolean',
  help: 'Try servers again that failed in the last minute',
};

/** Shows the failures of the last minute, also those of other commands, unless `--fresh` is given. */
export const failureOptions = (input: Input): Pick<HeddleOptions, 'recentFailuresMs'> => ({
  recentFailuresMs: input.flag('fresh') ? 0 : RECENT_FAILURE_MS,
});

/** Opens Heddle for commands that read the catalog: they wait for servers never seen, unless `--no-wait` is given. */
export const catalogOptions = (input: Input): HeddleOptions => ({
  ...openOptions(input),
  ...failureOptions(input),
  listWaitMs: input.flag('no-wait') ? 0 : Number.POSITIVE_INFINITY,
});

/** A server whose entries a result lacks. In JSON it is a row of the result, told apart by `kind`. */
export interface MissingServer {
  readonly kind: 'missing';
  readonly server: string;
  readonly state: ServerStatus['state'];
  readonly reason: string;
  readonly fix: string;
  /** For a failed server: the age of this result. */
  readonly failedAgoMs?: number;
}

/** Runs a task that may start servers. On a terminal a line on stderr names those still starting. */
export async function whileStarting<T>(heddle: CommandHeddle, by: Caller, task: () => Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return task();
  const over = new AbortController();
  void showStarting(heddle, by, over.signal);
  try {
    return await task();
  } finally {
    over.abort();
    process.stderr.write('\r\x1b[K');
  }
}

async function showStarting(heddle: CommandHeddle, by: Caller, signal: AbortSignal): Promise<void> {
  for await (const names of heddle.starting(by, signal)) {
    transientNotice(names.length === 0 ? '' : `Starting ${names.join(', ')} …`);
  }
}

/** Finds the servers whose entries a result lacks. */
export async function findMissing(heddle: CommandHeddle, by: Caller, only?: string): Promise<readonly ServerStatus[]> {
  const servers = (await visibleServers(heddle, by)) ?? [];
  return servers.filter((server) => (only === undefined || server.name === only) && isMissing(server));
}

/** Returns missing servers as rows for `--json`. */
export const missingRows = (missing: readonly ServerStatus[]): readonly MissingServer[] =>
  missing.map(withFailureAge).map(({ name: server, state, reason = NEVER, fix = ASK_AGAIN, failedAgoMs }) => {
    return { kind: 'missing', server, state, reason, fix, ...(failedAgoMs !== undefined && { failedAgoMs }) };
  });

/** Prints missing servers and their reasons to stderr. */
export function printMissing(missing: readonly ServerStatus[]): void {
  for (const status of missing) {
    const { name, state, reason = NEVER, fix = ASK_AGAIN } = status;
    const what = state === 'pending' ? 'is missing' : stateOf(status);
    printStatement({ start: `${oneLine(`${name} ${what}`)}: `, message: reason, fix }, process.stderr);
  }
  if (missing.some(isEarlierFailure)) notice(NOT_TRIED);
}

/** The notice below failures of an earlier command. */
export const NOT_TRIED = 'Servers that failed in the last minute were not tried again; --fresh does.';

const NEVER = 'It was never connected.';
const ASK_AGAIN = 'Run the command again without --no-wait.';

/** The tools of a server that was not tried here may be known. */
const isMissing = (status: ServerStatus) => {
  const { state, tools } = status;
  const isUntried = state === 'pending' || isEarlierFailure(status);
  return isUntried ? tools === undefined : state === 'failed' || state === 'needs-auth';
};
