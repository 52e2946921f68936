import type { Config } from '../../config/config.ts';
import { type EditScope, type EditTarget, editTargets } from '../../config/edit/edit-scopes.ts';
import { emptyFile, withServer, writtenServers } from '../../config/edit/edit-servers.ts';
import { type Comparison, compareEntry, type ImportableFile } from '../../config/hosts/find-imports.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { readTextFile } from '../../files/edit-file.ts';
import type { Input } from '../command.ts';
import { diffText } from '../print/print-diff.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { applyChange, printChange, requireJson } from './change-file.ts';
import { checkAdded } from './check-added.ts';
import { placesOf } from './edit-scope.ts';
import { requireOwnServers, takeOverHint } from './managed-servers.ts';
import { settleSecrets } from './move-secrets.ts';
import type { NamedServer } from './new-servers.ts';
import { noticeReplaced } from './notice-effects.ts';
import { trustOwn } from './trust-own.ts';

/** A server that can be imported. */
export interface Candidate {
  readonly name: string;
  readonly entry: JsonObject;
  readonly found: ImportableFile;
  readonly state: Comparison;
  /** True if Heddle reads the file itself, so that nothing of it has to be imported. */
  readonly isLive: boolean;
}

interface TakeOptions {
  readonly config: Config;
  /** The scope of `--scope`. Without it each server stays in the scope of its file. */
  readonly scope: EditScope | undefined;
  readonly report: Readonly<Record<string, unknown>>;
  readonly input: Input;
}

/** Imports servers into Heddle's files, or shows the change without `--write`. Prints the servers that need no import. */
export async function takeImports(wanted: readonly Candidate[], options: TakeOptions): Promise<void> {
  const { config, scope, report, input } = options;
  const needed = wanted.filter((one) => input.flag('force') || !isThere(one, options));
  if (input.flag('write')) requireOwnServers(config, [...new Set(needed.map(({ name }) => name))], 'added');
  const targets = await editTargets(placesOf(config));
  const groups = Map.groupBy(firstOfEach(needed, scope), (one) => targetOf(one, targets, scope));
  const changes = [];
  for (const [target, chosen] of groups) changes.push(await takeInto(target, chosen, options));
  const kept = new Set(changes.flatMap((change) => change.kept));
  const all = [...groups.values()].flat().map(({ name }) => name);
  const written = input.flag('write') ? all.filter((name) => !kept.has(name)) : [];
  const there = wanted.filter((one) => !needed.includes(one));
  const isChange = changes.some(({ changed }) => changed);
  if (input.flag('json')) {
    const approvals = await checkAdded(written, input, true);
    printJson({ ...report, changes, changed: isChange, notImported: there.map(({ name }) => name), approvals });
    return;
  }
  noticeThere(there, config);
  if (!input.flag('write')) print(`Nothing was changed.${isChange ? ` ${takeOverHint(config)}` : ''}`);
  else if (changes.length === 0) print('Nothing had to be imported.');
  await checkAdded(written, input, true);
}

/** Tells whether the configuration has the server already, in any scope or in that of `--scope`. */
function isThere({ name, found, state, isLive }: Candidate, { config, scope }: TakeOptions): boolean {
  if (isLive) return scope === undefined || scope === found.scope;
  return state === 'same' && (scope === undefined || scope === config.servers.get(name)?.scope);
}

function targetOf({ found }: Candidate, targets: readonly EditTarget[], given: EditScope | undefined): EditTarget {
  const own = targets.filter(({ foreign }) => !foreign);
  const target = own.find(({ scope }) => scope === (given ?? found.scope));
  // Heddle's own folder has the user's scope alone.
  const fallback = given === undefined ? own.find(({ scope }) => scope === 'user') : undefined;
  const chosen = target ?? fallback;
  if (chosen === undefined) throw new HeddleError('USAGE_INVALID', `There is no ${given} scope here.`);
  return chosen;
}

/** Returns the first candidate of each name and scope, and prints a notice for others that differ. */
function firstOfEach(wanted: readonly Candidate[], scope: EditScope | undefined): readonly Candidate[] {
  const chosen: Candidate[] = [];
  for (const one of wanted) {
    const others = chosen.filter(({ name }) => name === one.name);
    const first = others.find(({ found }) => scope !== undefined || found.scope === one.found.scope);
    const isCopy = others.some(({ entry }) => compareEntry(one.entry, entry) === 'same');
    if (first === undefined && !isCopy) chosen.push(one);
    else if (first !== undefined && !isCopy) {
      notice(`${one.name} in ${one.found.file} differs from the one in ${first.found.file}, which is taken.`);
    }
  }
  return chosen;
}

async function takeInto(target: EditTarget, chosen: readonly Candidate[], { config, input }: TakeOptions) {
  const dryRun = !input.flag('write');
  const effective: Input = { ...input, flag: (name) => (name === 'dry-run' ? dryRun : input.flag(name)) };
  const { file, scope } = target;
  const isKept = ({ name }: NamedServer, text: string) => !input.flag('force') && namesIn(text).has(name);
  const first = requireJson(file, await readTextFile(file));
  const kept = chosen.filter((one) => isKept(one, first)).map(({ name }) => name);
  const taken = chosen.filter(({ name }) => !kept.includes(name));
  const { servers, secrets } = await settleSecrets(taken, file, effective); // Only for servers that are written.
  const edit = (before: string): string => {
    if (servers.length === 0) return before; // Creates no file without servers.
    const start = before.trim() === '' ? emptyFile() : before;
    // Another process may have added one of them since the first read.
    const fresh = servers.filter((one) => !isKept(one, before));
    return fresh.reduce((text, { name, entry }) => withServer(text, name, entry), start);
  };
  const names = servers.map(({ name }) => name).join(', ');
  const summary = servers.length === 0 ? `${file} was not changed.` : `${names} → ${file} (${scope})`;
  const change = await applyChange({ file, edit }, dryRun);
  if (!input.flag('json')) printChange({ file, summary, dryRun }, change);
  noticeReplaced(servers);
  if (!dryRun) await trustTaken(taken, servers, { target, project: config.projectFolder });
  for (const name of kept) notice(`${file} has ${name} already; it was kept. --force replaces it.`);
  const { changed, shown } = change;
  return { file, scope, changed, kept, secrets, ...(dryRun && { diff: diffText(file, shown.before, shown.after) }) };
}

const namesIn = (text: string): ReadonlySet<string> => new Set(text.trim() === '' ? [] : writtenServers(text).keys());

/** Trusts servers imported from the user's own files. Those from a file of the project still need trust. */
async function trustTaken(
  taken: readonly Candidate[],
  servers: readonly NamedServer[],
  { target, project }: { readonly target: EditTarget; readonly project: string },
): Promise<void> {
  const theirs = new Set(taken.filter(({ found }) => found.scope === 'project').map(({ name }) => name));
  const own = servers.filter(({ name }) => !theirs.has(name));
  await trustOwn(target, own, project);
  if (theirs.size === 0) return;
  const names = [...theirs].join(', ');
  if (target.scope === 'user') notice(`From a file of this project, and now in all your projects: ${names}.`);
  else notice(`From a file of this project, so still to be trusted: ${names}. Look, then run \`heddle trust\`.`);
}

/** Prints which servers were not imported because Heddle has them. */
function noticeThere(there: readonly Candidate[], { servers }: Config): void {
  const fileOf = ({ name, found, isLive }: Candidate) => (isLive ? found.file : (servers.get(name)?.at?.file ?? ''));
  for (const [file, ones] of Map.groupBy(there, fileOf)) {
    const names = [...new Set(ones.map(({ name }) => name))].join(', ');
    const [first] = ones;
    if (first?.isLive) notice(`Heddle reads ${file} itself, so nothing is copied: ${names}.`);
    else notice(`${file || 'The configuration'} has the same already, so nothing is copied: ${names}.`);
  }
}
