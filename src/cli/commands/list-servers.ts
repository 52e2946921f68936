import type { Problem } from '../../config/config.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import type { Input } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { requireUninterrupted, untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print/print-json.ts';
import { printStatement } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { printTable } from '../print/print-table.ts';
import { stateOf } from '../print/state-label.ts';
import { openOptions, withRunningHeddle } from '../with-heddle.ts';

/** Runs `heddle list servers`. Starts servers only with `--check`, and exits like `doctor` then. A running gateway knows their current states. */
export async function listServers(input: Input): Promise<number> {
  const signal = untilInterrupted();
  let problems: readonly Problem[] = [];
  const onProblems = (found: readonly Problem[]) => {
    problems = found;
  };
  const options = { ...openOptions(input), onProblems };
  const servers = await withRunningHeddle(input, options, (heddle) => statesOf(heddle, input, signal));
  requireUninterrupted(signal);
  if (input.flag('json')) printJson(servers);
  else {
    const rows = servers.map((one) => [one.name, stateOf(one), one.transport, one.scope, String(one.tools ?? '?')]);
    printTable(['SERVER', 'STATE', 'TRANSPORT', 'SCOPE', 'TOOLS'], rows);
    printReasons(servers);
    printFileProblems(problems);
  }
  return input.flag('check') && servers.some(isBroken) ? 1 : 0;
}

const isBroken = ({ state }: ServerStatus) => state !== 'connected' && state !== 'disabled';

async function statesOf(heddle: CommandHeddle, input: Input, signal: AbortSignal): Promise<readonly ServerStatus[]> {
  const by = localCaller();
  const known = await heddle.servers.list(by);
  if (!input.flag('check')) return known;
  return Promise.all(known.map(({ name }) => heddle.servers.connect(by, name, signal)));
}

/** Prints the reasons of failed servers below the table. */
function printReasons(servers: readonly ServerStatus[]): void {
  for (const { name, state: now, reason, fix } of servers) {
    if (!reason || now === 'disabled') continue;
    printStatement({ start: `\n${oneLine(name)}: `, message: reason, fix }, process.stdout);
  }
}
