import type { Config } from '../../config/config.ts';
import type { ApplicationName } from '../../config/hosts/hosts.ts';
import type { Input } from '../command.ts';
import { printJson } from '../print/print-json.ts';
import { print } from '../print/print-line.ts';
import { printTable } from '../print/print-table.ts';
import { APPLICATIONS, type HostSummary, hostSummaries } from './host-summaries.ts';

/** Prints the hosts on this machine, and what each would gain by connecting. */
export async function showHosts(config: Config, input: Input): Promise<number> {
  const hosts = await hostSummaries(config);
  const absent = APPLICATIONS.filter((host) => !hosts.some((one) => one.host === host));
  if (input.flag('json')) {
    printJson({ hosts, absent });
    return 0;
  }
  if (hosts.length === 0) print(`No host is configured here. Known are ${APPLICATIONS.join(', ')}.`);
  else printHosts(hosts, absent);
  return 0;
}

function printHosts(hosts: readonly HostSummary[], absent: readonly ApplicationName[]): void {
  const head = ['HOST', 'STATE', 'SERVERS', 'THROUGH HEDDLE', 'FILE'];
  const rows = hosts.map(({ host, connected, servers, throughHeddle, file, problem }) => [
    host,
    problem === undefined ? (connected ? 'connected' : 'not connected') : 'not readable',
    problem === undefined ? String(servers.length) : '?',
    String(throughHeddle.length),
    file,
  ]);
  // A narrow terminal would cut off the files, so they follow the table there.
  const isNarrow = tableWidth([head, ...rows]) >= (process.stdout.columns || Number.POSITIVE_INFINITY);
  const shown = isNarrow ? -1 : head.length;
  printTable(
    head.slice(0, shown),
    rows.map((row) => row.slice(0, shown)),
    new Set([2, 3]),
  );
  if (isNarrow) for (const { host, file } of hosts) print(`${host}: ${file}`);
  print('');
  const all = new Set(hosts.flatMap(({ throughHeddle }) => throughHeddle)).size;
  const isMore = hosts.some(({ throughHeddle }) => throughHeddle.length < all);
  if (isMore) print(`With all of these hosts connected, each has ${all} servers.`);
  print('Through Heddle each call has approvals, limits, one audit log and one trace.');
  for (const { file, problem } of hosts) if (problem !== undefined) print(`${file}: ${problem}`);
  for (const { host, connectAgain } of hosts) {
    if (connectAgain === undefined) continue;
    print(`${host} has no key with a person, so it cannot ask you for approvals. Connect it again: ${connectAgain}`);
  }
  if (absent.length > 0) print(`Not here: ${absent.join(', ')}`);
  print('Connect one: heddle connect <host>');
}

const tableWidth = (rows: readonly (readonly string[])[]): number =>
  (rows[0] ?? []).reduce((sum, _, at) => sum + 2 + Math.max(...rows.map((row) => row[at]?.length ?? 0)), -2);
