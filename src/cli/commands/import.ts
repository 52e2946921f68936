import type { Config } from '../../config/config.ts';
import { type EditTarget, editTargets } from '../../config/edit/edit-scopes.ts';
import { emptyFile, withServer, writtenServers } from '../../config/edit/edit-servers.ts';
import { previewValue } from '../../config/edit/preview.ts';
import { type Comparison, compareEntry, findImports, type ImportableFile } from '../../config/hosts/find-imports.ts';
import { HOSTS, type HostName } from '../../config/hosts/hosts.ts';
import { readConfig } from '../../config/read-config.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { ERRORS, HeddleError } from '../../core/errors.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { readTextFile } from '../../files/edit-file.ts';
import { type Command, type Input, JSON_OPTION } from '../command.ts';
import { changeFile, requireJson } from '../edit/change-file.ts';
import { placesOf, readScope, SCOPE_OPTION } from '../edit/edit-scope.ts';
import { settleSecrets } from '../edit/move-secrets.ts';
import type { NamedServer } from '../edit/new-servers.ts';
import { trustOwn } from '../edit/trust-own.ts';
import { filesOf, readHost, requireNames } from '../input/choose-host.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { printProblems } from '../print/print-problems.ts';
import { printTable } from '../print/print-table.ts';

/** A server that can be imported. */
interface Candidate {
  readonly name: string;
  readonly entry: JsonObject;
  readonly found: ImportableFile;
  readonly state: Comparison;
}

export const importServers: Command = {
  summary: 'Show the servers that other hosts have, and take them over with --write.',
  usage: 'heddle import [host [name …]]',
  examples: ['heddle import', 'heddle import cursor', 'heddle import vscode github --write --scope project'],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    write: { type: 'boolean', help: 'Write them down; without it nothing is changed' },
    scope: { ...SCOPE_OPTION, help: 'Where to write: user (default), project or local' },
    force: { type: 'boolean', help: 'Replace servers that are there under the same name' },
    secret: { type: 'boolean', help: 'Move secrets into the secret store without asking' },
    file: { type: 'string', value: 'FILE', help: 'Read this file of the host and no other' },
    json: JSON_OPTION,
  },
  async run(input) {
    const [word, ...names] = input.positionals;
    const host = word === undefined ? undefined : readHost(word);
    const scope = readScope(input) ?? 'user';
    const file = input.text('file');
    if (file !== undefined && host === undefined) {
      throw new HeddleError('USAGE_INVALID', '--file does not say whose file it is.', { fix: 'Name the host first.' });
    }
    const config = await readConfig();
    const found = await findImports(filesOf(config.projectFolder, host, file));
    const candidates = found.flatMap((one) => candidatesIn(one, config));
    requireNames(
      names,
      candidates.map(({ name }) => name),
      host ? `in what ${HOSTS[host].title} has` : '',
    );
    const wanted = candidates.filter(({ name }) => names.length === 0 || names.includes(name));
    const report = { files: found.map((one) => describeFile(one, candidates)) };

    if (host === undefined && !input.flag('write')) return overview(found, candidates, report, input);
    if (!input.flag('json')) showServers(wanted, host);
    printNotes(found, input);
    const target = (await editTargets(placesOf(config))).find((one) => one.scope === scope && !one.foreign);
    if (target === undefined) throw new HeddleError('USAGE_INVALID', `There is no ${scope} scope here.`);
    if (wanted.length > 0) await take(wanted, { target, project: config.projectFolder, report, input });
    else if (input.flag('json')) printJson({ ...report, file: target.file, changed: false });
    return wanted.length === 0 && hasErrors(found) ? ERRORS.CONFIG_INVALID.exit : 0;
  },
};

function candidatesIn(found: ImportableFile, config: Config): readonly Candidate[] {
  return Object.entries(found.servers).map(([name, entry]) => {
    const state = compareEntry(entry, config.servers.get(name)?.written);
    return { name, entry, found, state };
  });
}

function describeFile(found: ImportableFile, candidates: readonly Candidate[]) {
  const { host, scope, file, notes, problems } = found;
  const servers = candidates
    .filter((one) => one.found === found)
    .map(({ name, entry, state }) => ({ name, state, entry: previewValue(entry) }));
  return { host, scope, file, servers, notes, problems };
}

function overview(
  found: readonly ImportableFile[],
  candidates: readonly Candidate[],
  report: object,
  input: Input,
): number {
  if (input.flag('json')) {
    printJson(report);
    return 0;
  }
  const names = (file: ImportableFile, state: Comparison) =>
    candidates
      .filter((one) => one.found === file && one.state === state)
      .map(({ name }) => name)
      .join(', ');
  const shown = found.filter(({ servers }) => Object.keys(servers).length > 0);
  if (shown.length === 0) print('No other host on this machine has servers to import.');
  else {
    const rows = shown.map((one) => [
      one.host,
      one.scope,
      one.file,
      ...(['new', 'same', 'different'] as const).map((state) => names(one, state)),
    ]);
    printTable(['HOST', 'SCOPE', 'FILE', 'NEW', 'SAME', 'DIFFERENT'], rows);
    process.stdout.write('\nNothing was changed. One host in full: heddle import <host>. To take over: --write\n');
  }
  printProblems(found.flatMap(({ problems }) => problems));
  return 0;
}

function showServers(candidates: readonly Candidate[], host: HostName | undefined): void {
  if (candidates.length === 0) {
    notice(`${host ? HOSTS[host].title : 'No other host'} has no servers here to import.`);
    return;
  }
  const rows = candidates.map(({ name, state, entry, found }) => [name, state, found.host, runs(entry), found.file]);
  printTable(['SERVER', 'STATE', 'HOST', 'RUNS', 'FILE'], rows);
}

function runs({ command, args, url }: JsonObject): string {
  const words = command === undefined ? [url ?? ''] : [command, ...(Array.isArray(args) ? args : [])];
  const shown = (previewValue(words) as readonly Json[]).map(String);
  return command === undefined ? shown.join(' ') : quoteCommand(shown);
}

function printNotes(found: readonly ImportableFile[], input: Input): void {
  if (input.flag('json')) return;
  for (const { file, notes } of found) for (const note of notes) notice(`${file}: ${note}`);
  printProblems(found.flatMap(({ problems }) => problems));
}

const hasErrors = (found: readonly ImportableFile[]) =>
  found.some(({ problems }) => problems.some(({ level }) => level === 'error'));

interface Taking {
  readonly target: EditTarget;
  readonly project: string;
  readonly report: Readonly<Record<string, unknown>>;
  readonly input: Input;
}

async function take(wanted: readonly Candidate[], { target, project, report, input }: Taking): Promise<void> {
  const dryRun = !input.flag('write');
  const effective: Input = { ...input, flag: (name) => (name === 'dry-run' ? dryRun : input.flag(name)) };
  const { file, scope } = target;
  const chosen = firstOfEach(wanted);
  const isKept = ({ name }: NamedServer, text: string) => !input.flag('force') && namesIn(text).has(name);
  const first = requireJson(file, await readTextFile(file));
  const kept = chosen.filter((one) => isKept(one, first)).map(({ name }) => name);
  const taken = chosen.filter(({ name }) => !kept.includes(name));
  const servers = await settleSecrets(taken, file, effective); // Only for servers that are written.
  const edit = (before: string): string => {
    if (servers.length === 0) return before; // Creates no file without servers.
    const start = before.trim() === '' ? emptyFile() : before;
    // Another process may have added one of them since the first read.
    const fresh = servers.filter((one) => !isKept(one, before));
    return fresh.reduce((text, { name, entry }) => withServer(text, name, entry), start);
  };
  const names = servers.map(({ name }) => name).join(', ');
  const line = servers.length === 0 ? `${file} was not changed.` : `${names} → ${file} (${scope})`;
  await changeFile({ file, edit, report: { ...report, scope, kept }, summary: line }, effective);
  if (!dryRun) await trustTaken(taken, servers, { target, project });
  for (const name of kept) notice(`${file} has ${name} already; it was kept. --force replaces it.`);
  if (dryRun && !input.flag('json')) print('Nothing was changed. To take over: --write');
}

const namesIn = (text: string): ReadonlySet<string> => new Set(text.trim() === '' ? [] : writtenServers(text).keys());

/** Trusts servers imported from the user's own files. Those from a file of the project still need trust. */
async function trustTaken(
  taken: readonly Candidate[],
  servers: readonly NamedServer[],
  { target, project }: Pick<Taking, 'target' | 'project'>,
): Promise<void> {
  const theirs = new Set(taken.filter(({ found }) => found.scope === 'project').map(({ name }) => name));
  const own = servers.filter(({ name }) => !theirs.has(name));
  await trustOwn(target, own, project);
  if (target.scope === 'user' || theirs.size === 0) return;
  const names = [...theirs].join(', ');
  notice(`From a file of this project, so still to be trusted: ${names}. Look, then run \`heddle trust\`.`);
}

/** Returns the first candidate of each name, and prints a notice for others that differ. */
function firstOfEach(wanted: readonly Candidate[]): readonly Candidate[] {
  const chosen = new Map<string, Candidate>();
  for (const one of wanted) {
    const first = chosen.get(one.name);
    if (first === undefined) chosen.set(one.name, one);
    else if (compareEntry(one.entry, first.entry) === 'different') {
      notice(`${one.name} in ${one.found.file} differs from the one in ${first.found.file}, which is taken.`);
    }
  }
  return [...chosen.values()];
}
