import { access } from 'node:fs/promises';
import type { Config, ServerConfig } from '../../config/config.ts';
import { backUp, restore } from '../../config/edit/back-up.ts';
import { compareEntry } from '../../config/hosts/find-imports.ts';
import type { Exported, HostServers } from '../../config/hosts/host-format.ts';
import { HOSTS, type HostFile, type HostName } from '../../config/hosts/hosts.ts';
import { readConfig } from '../../config/read-config.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { editFile, readTextFile } from '../../files/edit-file.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { noteAct } from '../acts.ts';
import { type Command, type Input, JSON_OPTION } from '../command.ts';
import { readScope, SCOPE_OPTION } from '../edit/edit-scope.ts';
import { findInlineSecrets, findMixedSecrets } from '../edit/inline-secrets.ts';
import { problemError } from '../edit/problem-error.ts';
import { filesOf, readHost, requireNames } from '../input/choose-host.ts';
import { diffText, printDiff } from '../print/print-diff.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';

export const exportServers: Command = {
  summary: 'Show how another host’s file would look with these servers, and write it with --write.',
  usage: 'heddle export host [name …]',
  examples: [
    'heddle export cursor',
    'heddle export vscode github --scope project --write',
    'heddle export cursor --rollback',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    write: { type: 'boolean', help: 'Write the file, after a copy of it beside it' },
    rollback: { type: 'boolean', help: 'Put back the copy that the last --write made' },
    scope: { ...SCOPE_OPTION, help: 'Which of the host’s files: user, project or local' },
    file: { type: 'string', value: 'FILE', help: 'Write this file and no other' },
    json: JSON_OPTION,
  },
  async run(input) {
    const [word, ...names] = input.positionals;
    if (word === undefined) throw new HeddleError('USAGE_INVALID', 'No host to export to was given.');
    const host = readHost(word);
    const config = await readConfig();
    const where = await targetOf(host, config, input);
    if (input.flag('rollback')) return rollBack(where, input);
    const servers = exportable(config, names);
    return input.flag('write') ? write(where, servers, input) : show(where, servers, input);
  },
};

/** Returns the requested file of the host; of several, the first that exists. */
async function targetOf(host: HostName, { projectFolder }: Config, input: Input): Promise<HostFile> {
  const all = filesOf(projectFolder, host, input.text('file'));
  const wanted = readScope(input) ?? all[0]?.scope;
  const [first, ...others] = input.text('file') === undefined ? all.filter(({ scope }) => scope === wanted) : all;
  if (first === undefined) {
    const scopes = [...new Set(all.map(({ scope }) => scope))].join(' or ');
    const message = `${HOSTS[host].title} has no file of the ${wanted} scope.`;
    throw new HeddleError('USAGE_INVALID', message, { fix: `Use --scope ${scopes}.` });
  }
  if (await exists(first.file)) return first;
  for (const other of others) if (await exists(other.file)) return other;
  return first;
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

// The other host would start them without asking.
const KEPT_BACK: Readonly<Record<string, string>> = {
  SERVER_UNTRUSTED: 'untrusted; `heddle trust` reviews it',
  SERVER_BLOCKED: 'blocked by the organisation’s policy',
};

/** Returns why a server is not exported. The trust of a disabled or invalid server is not known. */
function reasonOf({ problem, needsTrust, entry }: ServerConfig): string | undefined {
  const known = KEPT_BACK[problem?.code ?? ''];
  return (
    known ?? (needsTrust && (problem || !entry?.enabled) ? 'disabled or invalid, so its trust is unknown' : undefined)
  );
}

/** Returns the servers as written. Active entries contain expanded values that belong in no file. */
function exportable({ servers }: Config, names: readonly string[]): HostServers {
  const written = [...servers].flatMap(([name, server]) =>
    isObject(server.written) && server.problem?.code !== 'CONFIG_INVALID' && reasonOf(server) === undefined
      ? [[name, server.written] as const]
      : [],
  );
  for (const [name, server] of servers) {
    const reason = names.length === 0 || names.includes(name) ? reasonOf(server) : undefined;
    if (reason !== undefined) notice(`${name} is not exported: it is ${reason}.`);
  }
  requireNames(
    names,
    written.map(([name]) => name),
    'that could be exported',
  );
  const chosen = written.filter(([name]) => names.length === 0 || names.includes(name));
  if (chosen.length > 0) return Object.fromEntries(chosen);
  throw new HeddleError('USAGE_INVALID', 'No server is configured that could be exported.', {
    fix: 'Add one with `heddle add`.',
  });
}

function exported({ host, ...where }: HostFile, servers: HostServers, before: string): Exported {
  const result = HOSTS[host].to(servers, before, where);
  const problem = result.problems.find(({ level }) => level === 'error');
  if (problem === undefined) return result;
  throw problemError(problem);
}

/** Returns the names of the host's servers that the export changes. */
function replacedIn({ host, ...where }: HostFile, before: string, after: string): readonly string[] {
  const [old, now] = [before, after].map((text) => (text.trim() === '' ? {} : HOSTS[host].from(text, where).servers));
  return Object.entries(now ?? {}).flatMap(([name, entry]) =>
    compareEntry(entry, old?.[name]) === 'different' ? [name] : [],
  );
}

async function show(where: HostFile, servers: HostServers, input: Input): Promise<number> {
  const { host, scope, file } = where;
  const before = await readTextFile(file);
  const { text, notes } = exported(where, servers, before);
  const { redacted } = HOSTS[host];
  const replaced = replacedIn(where, before, text);
  const [old, now] = [redacted(before), redacted(text)];
  const changed = before !== text;
  if (input.flag('json')) {
    printJson({ host, scope, file, changed, replaced, notes, diff: diffText(file, old, now) });
    return 0;
  }
  printDiff(file, old, now);
  printNotes(notes);
  for (const name of replaced) notice(`${name} is there already and differs; --write replaces it.`);
  if (changed && old === now) notice('The change is in values that are not shown.');
  print(changed ? 'Nothing was changed. To write it: --write' : `${file} has all of it already.`);
  return 0;
}

async function write(where: HostFile, servers: HostServers, input: Input): Promise<number> {
  const { host, scope, file } = where;
  const before = await readTextFile(file);
  const { text, notes } = exported(where, servers, before);
  const changed = before !== text;
  const replaced = replacedIn(where, before, text);
  warnOfSecrets(servers, file);
  const backup = changed ? await backUp(file) : undefined;
  if (changed) {
    await editFile(file, (now) => exported(where, servers, now).text, { home: homeFolder(process.env) });
    noteAct({ file });
  }
  if (input.flag('json')) printJson({ host, scope, file, changed, replaced, notes, backup: backup ?? null });
  else {
    printNotes(notes);
    for (const name of replaced) notice(`${name} was there already and differed; it was replaced.`);
    print(changed ? `Wrote ${file}.` : `${file} has all of it already.`);
    if (backup) print(`As it was: ${backup}. To put it back: heddle export ${host} --rollback`);
  }
  return 0;
}

async function rollBack({ host, scope, file }: HostFile, input: Input): Promise<number> {
  const result = await restore(file);
  noteAct({ [result]: file });
  if (input.flag('json')) printJson({ host, scope, file, restored: result });
  else print(result === 'removed' ? `${file} was new, and is gone again.` : `${file} is as it was.`);
  return 0;
}

function printNotes(notes: readonly string[]): void {
  for (const note of notes) notice(note);
}

function warnOfSecrets(servers: HostServers, file: string): void {
  for (const [name, entry] of Object.entries(servers)) {
    const keys = findInlineSecrets(name, entry).map(({ key }) => key);
    for (const key of [...keys, ...findMixedSecrets(entry)]) {
      notice(`warning: ${key} of ${name} looks like a secret; it goes into ${file} as it is.`);
    }
  }
}
