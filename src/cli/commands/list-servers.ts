import type { Problem } from '../../config/config.ts';
import { readConfig } from '../../config/read-config.ts';
import { isObject } from '../../core/json.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { findGateway, requestGateway } from '../../gateway/running-gateway.ts';
import type { Heddle } from '../../heddle.ts';
import type { Input } from '../command.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { oneLine } from '../print/escape-control.ts';
import { printJson } from '../print/print-json.ts';
import { notice, printStatement } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { printTable } from '../print/print-table.ts';
import { stateOf } from '../print/state-label.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

/** Runs `heddle list servers`. Starts servers only with `--check`. */
export async function listServers(input: Input): Promise<number> {
  const signal = untilInterrupted();
  let problems: readonly Problem[] = [];
  const onProblems = (found: readonly Problem[]) => {
    problems = found;
  };
  const live = input.flag('check') ? undefined : await liveServers(input, onProblems);
  const options = { ...openOptions(input), onProblems };
  const servers = live ?? (await withHeddle(options, (heddle) => ownServers(heddle, input, signal)));
  if (input.flag('json')) printJson(servers);
  else {
    const rows = servers.map((one) => [one.name, stateOf(one), one.transport, one.scope, String(one.tools ?? '?')]);
    printTable(['SERVER', 'STATE', 'TRANSPORT', 'SCOPE', 'TOOLS'], rows);
    printReasons(servers);
    printFileProblems(problems);
  }
  return 0;
}

async function ownServers(heddle: Heddle, input: Input, signal: AbortSignal): Promise<readonly ServerStatus[]> {
  const by = localCaller();
  const known = await heddle.servers.list(by);
  if (!input.flag('check')) return known;
  return Promise.all(known.map(({ name }) => heddle.servers.connect(by, name, signal)));
}

/** Returns the servers of a running gateway of this project, which knows their current states. */
export async function liveServers(
  input: Input,
  onProblems: (problems: readonly Problem[]) => void,
): Promise<readonly ServerStatus[] | undefined> {
  if (input.text('config') !== undefined) return undefined;
  const gateway = await findGateway(homeFolder(process.env), { report: notice });
  if (!gateway) return undefined;
  const { projectFolder, problems } = await readConfig();
  const response =
    gateway.project === projectFolder ? await requestGateway(gateway, '/api/servers', { report: notice }) : undefined;
  if (!isObject(response) || !Array.isArray(response.servers)) return undefined;
  onProblems(problems);
  return response.servers as unknown as ServerStatus[];
}

/** Prints the reasons of failed servers below the table. */
function printReasons(servers: readonly ServerStatus[]): void {
  for (const { name, state: now, reason, fix } of servers) {
    if (!reason || now === 'disabled') continue;
    printStatement({ start: `\n${oneLine(name)}: `, message: reason, fix }, process.stdout);
  }
}
