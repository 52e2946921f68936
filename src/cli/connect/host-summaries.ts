import type { Config } from '../../config/config.ts';
import { findImports } from '../../config/hosts/find-imports.ts';
import { type ApplicationName, HOST_NAMES, HOSTS } from '../../config/hosts/hosts.ts';
import { valueAt } from '../../config/read/describe-issue.ts';
import { isOwnEntry } from '../../config/read/own-entry.ts';
import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Finding } from '../../core/records/finding.ts';
import { withoutPerson } from './gateway-entry.ts';
import { type HostTarget, hostTarget, readHostText } from './host-file.ts';

/** The applications that can be connected. */
export const APPLICATIONS: readonly ApplicationName[] = HOST_NAMES.filter((name) => name !== 'registry');

/** A host whose file exists. */
export interface HostSummary {
  readonly host: ApplicationName;
  readonly file: string;
  /** The servers that the host starts itself. */
  readonly servers: readonly string[];
  /** The servers that it has through Heddle, once it is connected. */
  readonly throughHeddle: readonly string[];
  readonly connected: boolean;
  /** The command that gives a connected host a key with a person; absent if it has one. */
  readonly connectAgain?: string;
  readonly problem?: string;
}

type SummaryWithEntry = HostSummary & { readonly entry?: Json };

/** Reads the hosts on this machine. */
export async function hostSummaries(config: Config): Promise<readonly HostSummary[]> {
  const targets = await Promise.all(APPLICATIONS.map((host) => hostTarget(host, config.projectFolder)));
  const found = await Promise.all(targets.map((where) => summaryOf(where, config)));
  const hosts = found.filter((one) => one !== undefined);
  const entries = new Map(hosts.flatMap(({ host, entry }) => (entry === undefined ? [] : [[host, entry] as const])));
  const without = await withoutPerson(entries);
  return hosts.map(({ entry, ...summary }) => ({
    ...summary,
    ...(without.has(summary.host) && { connectAgain: `heddle connect ${summary.host}${urlOption(entry)}` }),
  }));
}

const urlOption = (entry: Json | undefined) => (isObject(entry) && entry.command === undefined ? ' --url' : '');

/** Reports the connected hosts whose key has no person: they get no form that asks for an approval. */
export async function hostFindings(config: Config): Promise<readonly Finding[]> {
  return (await hostSummaries(config)).flatMap(({ host, file, connectAgain }): readonly Finding[] => {
    if (connectAgain === undefined) return [];
    const message = `${file} has no key with a person, so ${HOSTS[host].title} cannot ask you for approvals.`;
    return [{ level: 'warn', subject: host, message, fix: `Run \`${connectAgain}\`.`, facts: { host, file } }];
  });
}

async function summaryOf(where: HostTarget, config: Config): Promise<SummaryWithEntry | undefined> {
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
  const [, entry] = Object.entries(isObject(block) ? block : {}).find((one) => isOwnEntry(...one)) ?? [];
  return { ...summary, connected: entry !== undefined, ...(entry !== undefined && { entry }) };
}
