import type { Config } from '../../config/config.ts';
import { previewValue } from '../../config/edit/preview.ts';
import { type Comparison, findImports, type ImportableFile } from '../../config/hosts/find-imports.ts';
import { HOSTS, type HostName } from '../../config/hosts/hosts.ts';
import { readConfig } from '../../config/read-config.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { ERRORS } from '../../core/error-codes.ts';
import { HeddleError } from '../../core/errors.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { type Command, type Input, JSON_OPTION } from '../command.ts';
import { CHECK_OPTIONS } from '../edit/check-added.ts';
import { compareServer } from '../edit/compare-server.ts';
import { readScope, SCOPE_OPTION } from '../edit/edit-scope.ts';
import { takeOverHint } from '../edit/managed-servers.ts';
import { PLAIN_OPTION } from '../edit/move-secrets.ts';
import { type Candidate, takeImports } from '../edit/take-imports.ts';
import { filesOf, readHost, requireNames } from '../input/choose-host.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { printProblems } from '../print/print-problems.ts';
import { printTable } from '../print/print-table.ts';

const NO_SERVERS = 'No other host on this machine has servers to import.';

export const importServers: Command = {
  summary: 'Show the servers that other hosts have, and take them over with --write.',
  usage: 'heddle import [host [name …]]',
  examples: ['heddle import', 'heddle import cursor', 'heddle import vscode github --write --scope project'],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    write: { type: 'boolean', help: 'Write them down; without it nothing is changed' },
    scope: {
      ...SCOPE_OPTION,
      help: 'Where to write: user, project or local; without it, where the host has the server',
    },
    force: { type: 'boolean', help: 'Replace servers that are there under the same name' },
    plain: PLAIN_OPTION,
    ...CHECK_OPTIONS,
    yes: { type: 'boolean', help: 'Ask nothing, and allow no tools' },
    file: { type: 'string', value: 'FILE', help: 'Read this file of the host and no other' },
    json: JSON_OPTION,
  },
  async run(input) {
    const [word, ...names] = input.positionals;
    const host = word === undefined ? undefined : readHost(word);
    const scope = readScope(input);
    const file = input.text('file');
    if (file !== undefined && host === undefined) {
      throw new HeddleError('USAGE_INVALID', '--file does not say whose file it is.', { fix: 'Name the host first.' });
    }
    const config = await readConfig();
    const found = await findImports(filesOf(config.projectFolder, host, file));
    const candidates = (await Promise.all(found.map((one) => candidatesIn(one, config)))).flat();
    requireNames(
      names,
      candidates.map(({ name }) => name),
      host ? `in what ${HOSTS[host].title} has` : '',
    );
    const wanted = candidates.filter(({ name }) => names.length === 0 || names.includes(name));
    const report = { files: found.map((one) => describeFile(one, candidates)) };

    if (host === undefined && !input.flag('write')) return overview(found, candidates, { config, report, input });
    if (!input.flag('json')) showServers(wanted, host);
    printNotes(found, input);
    if (wanted.length > 0) await takeImports(wanted, { config, scope, report, input });
    else if (input.flag('json')) printJson({ ...report, changes: [], changed: false, notImported: [], approvals: [] });
    return wanted.length === 0 && hasErrors(found) ? ERRORS.CONFIG_INVALID.exit : 0;
  },
};

function candidatesIn(found: ImportableFile, config: Config): Promise<readonly Candidate[]> {
  const isLive = config.files.some(({ file, state }) => file === found.file && state === 'found');
  const entries = Object.entries(found.servers);
  return Promise.all(
    entries.map(async ([name, entry]) => {
      const state = await compareServer({ name, entry }, config.servers.get(name)?.written);
      return { name, entry, found, state, isLive };
    }),
  );
}

function describeFile(found: ImportableFile, candidates: readonly Candidate[]) {
  const { host, scope, file, notes, problems } = found;
  const servers = candidates
    .filter((one) => one.found === found)
    .map(({ name, entry, state, isLive }) => ({ name, state, isLive, entry: previewValue(entry) }));
  return { host, scope, file, servers, notes, problems };
}

function overview(
  found: readonly ImportableFile[],
  candidates: readonly Candidate[],
  { config, report, input }: { readonly config: Config; readonly report: object; readonly input: Input },
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
  if (shown.length === 0) print(NO_SERVERS);
  else {
    const rows = shown.map((one) => [
      one.host,
      one.scope,
      one.file,
      ...(['new', 'same', 'different'] as const).map((state) => names(one, state)),
    ]);
    printTable(['HOST', 'SCOPE', 'FILE', 'NEW', 'SAME', 'DIFFERENT'], rows);
    const live = new Set(candidates.filter(({ isLive }) => isLive).map(({ found: { file } }) => file));
    process.stdout.write('\n');
    if (live.size > 0) print(`Heddle reads these files itself, so they need no import: ${[...live].join(', ')}.`);
    print(`Nothing was changed. One host in full: heddle import <host>. ${takeOverHint(config)}`);
  }
  printProblems(found.flatMap(({ problems }) => problems));
  return 0;
}

function showServers(candidates: readonly Candidate[], host: HostName | undefined): void {
  if (candidates.length === 0) {
    notice(host ? `${HOSTS[host].title} has no servers here to import.` : NO_SERVERS);
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
