import type { Problem } from '../../config/config.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import type { Input } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { requireUninterrupted, untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { failureOptions, NOT_TRIED } from '../print/missing-servers.ts';
import { printJson } from '../print/print-json.ts';
import { notice, printStatement, transientNotice } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { tablePrinter } from '../print/print-table.ts';
import { isRecentFailure, stateOf, withFailureAge } from '../print/state-label.ts';
import { openOptions, withRunningHeddle } from '../with-heddle.ts';

/** Runs `heddle list servers`. Starts servers only with `--check`, and exits like `doctor` then. A running gateway knows their current states. */
export async function listServers(input: Input): Promise<number> {
  const signal = untilInterrupted();
  let problems: readonly Problem[] = [];
  const onProblems = (found: readonly Problem[]) => {
    problems = found;
  };
  const options = { ...openOptions(input), ...failureOptions(input), onProblems };
  const check = input.flag('check');
  let hasUntried = false;
  const servers = await withRunningHeddle(input, options, async (heddle) => {
    const known = await heddle.servers.list(localCaller());
    const isToCheck = (one: ServerStatus) => check && (input.flag('fresh') || !isRecentFailure(one));
    hasUntried = check && !known.every(isToCheck);
    const onStatus = input.flag('json') ? () => {} : rowPrinter(known, check);
    return statesOf(heddle, { known, isToCheck, onStatus }, signal);
  });
  requireUninterrupted(signal);
  if (input.flag('json')) printJson(servers.map(withFailureAge));
  else {
    printReasons(servers);
    printFileProblems(problems);
    if (hasUntried) notice(NOT_TRIED);
  }
  return check && servers.some(isBroken) ? 1 : 0;
}

const isBroken = ({ state }: ServerStatus) => state !== 'connected' && state !== 'disabled';

interface Check {
  readonly known: readonly ServerStatus[];
  readonly isToCheck: (status: ServerStatus) => boolean;
  /** Receives each status as soon as it is known. */
  readonly onStatus: (status: ServerStatus) => void;
}

/** Connects the servers that are to be checked, all at once. On a terminal a line on stderr names those still awaited. */
async function statesOf(
  heddle: CommandHeddle,
  { known, isToCheck, onStatus }: Check,
  signal: AbortSignal,
): Promise<readonly ServerStatus[]> {
  const awaited = new Set(known.filter(isToCheck).map(({ name }) => name));
  const showAwaited = (text: string) => process.stderr.isTTY && transientNotice(text);
  const one = async (status: ServerStatus): Promise<ServerStatus> => {
    const isAwaited = awaited.has(status.name);
    const now = isAwaited ? await heddle.servers.connect(localCaller(), status.name, signal) : status;
    awaited.delete(status.name);
    if (signal.aborted) return now;
    showAwaited('');
    onStatus(now);
    if (awaited.size > 0) showAwaited(`Checking ${[...awaited].join(', ')} …`);
    return now;
  };
  return Promise.all(known.map(one));
}

const rowOf = (one: ServerStatus) => [one.name, stateOf(one), one.transport, one.scope, String(one.tools ?? '?')];

/** Returns a function that prints the row of a server. A state that is found out later has room in its column. */
function rowPrinter(known: readonly ServerStatus[], check: boolean): (status: ServerStatus) => void {
  const later = check ? [['', 'needs-auth', '', '', '']] : [];
  const printRow = tablePrinter(['SERVER', 'STATE', 'TRANSPORT', 'SCOPE', 'TOOLS'], [...known.map(rowOf), ...later]);
  return (status) => printRow(rowOf(status));
}

/** Prints the reasons of failed servers, and of absent built-in ones, below the table. */
function printReasons(servers: readonly ServerStatus[]): void {
  for (const { name, state: now, scope, reason, fix } of servers) {
    if (!reason || (now === 'disabled' && scope !== 'builtin')) continue;
    printStatement({ start: `\n${oneLine(name)}: `, message: reason, fix }, process.stdout);
  }
}
