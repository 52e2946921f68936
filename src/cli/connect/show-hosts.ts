import type { Config } from '../../config/config.ts';
import { findImports } from '../../config/hosts/find-imports.ts';
import { type ApplicationName, HOST_NAMES, HOSTS } from '../../config/hosts/hosts.ts';
import { valueAt } from '../../config/read/describe-issue.ts';
import { isOwnEntry } from '../../config/read/own-entry.ts';
import { isObject } from '../../core/json.ts';
import type { Input } from '../command.ts';
import { printJson } from '../print/print-json.ts';
import { print } from '../print/print-line.ts';
import { printTable } from '../print/print-table.ts';
import { type HostTarget, hostTarget, readHostText } from './host-file.ts';

/** A host whose file exists. */
interface HostSummary {
  readonly host: ApplicationName;
  readonly file: string;
  /** The servers that the host starts itself. */
  readonly servers: readonly string[];
  /** The servers that it has through Heddle, once it is connected. */
  readonly throughHeddle: readonly string[];
  readonly connected: boolean;
  readonly problem?: string;
}

/** Prints the hosts on this machine, and what each would gain by connecting. */
export async function showHosts(config: Config, input: Input): Promise<number> {
  const applications = HOST_NAMES.filter((name) => name !== 'registry');
  const targets = await Promise.all(applications.map((host) => hostTarget(host, config.projectFolder)));
  const hosts = (await Promise.all(targets.map((where) => summaryOf(where, config)))).filter(
    (one) => one !== undefined,
  );
  const absent = applications.filter((host) => !hosts.some((one) => one.host === host));
  if (input.flag('json')) {
    printJson({ hosts, absent });
    return 0;
  }
  if (hosts.length === 0) print(`No host is configured here. Known are ${applications.join(', ')}.`);
  else printHosts(hosts, absent);
  return 0;
}

function printHosts(hosts: readonly HostSummary[], absent: readonly ApplicationName[]): void {
  printTable(
    ['HOST', 'STATE', 'SERVERS', 'THROUGH HEDDLE', 'FILE'],
    hosts.map(({ host, connected, servers, throughHeddle, file, problem }) => [
      host,
      problem === undefined ? (connected ? 'connected' : 'not connected') : 'not readable',
      problem === undefined ? String(servers.length) : '?',
      String(throughHeddle.length),
      file,
    ]),
    new Set([2, 3]),
  );
  print('');
  const all = new Set(hosts.flatMap(({ throughHeddle }) => throughHeddle)).size;
  const isMore = hosts.some(({ throughHeddle }) => throughHeddle.length < all);
  if (isMore) print(`With all of these hosts connected, each has ${all} servers.`);
  print('Through Heddle each call has approvals, limits, one audit log and one trace.');
  for (const { file, problem } of hosts) if (problem !== undefined) print(`${file}: ${problem}`);
  if (absent.length > 0) print(`Not here: ${absent.join(', ')}`);
  print('Connect one: heddle connect <host>');
}

async function summaryOf(where: HostTarget, config: Config): Promise<HostSummary | undefined> {
  const { host, file } = where;
  const enabled = [...config.servers.values()].filter(({ entry }) => entry?.enabled).map(({ name }) => name);
  const [found] = await findImports([where]);
  if (found === undefined) return undefined;
  const own = Object.entries(found.servers).flatMap(([name, entry]) => (entry.enabled === false ? [] : [name]));
  const all = [...new Set([...enabled, ...own])];
  const text = await readHostText(file).catch(() => undefined);
  const value = text && HOSTS[host].parse(text.text, where);
  const summary = { host, file, servers: own, throughHeddle: all };
  if (value === undefined || !('root' in value)) {
    return { ...summary, connected: false, problem: value?.message ?? 'It cannot be read.' };
  }
  const block = valueAt(value.root, value.at);
  const connected = isObject(block) && Object.entries(block).some(([name, entry]) => isOwnEntry(name, entry));
  return { ...summary, connected };
}
