import type { SourceLocation } from '../../config/config.ts';
import { HOSTS } from '../../config/hosts/hosts.ts';
import type { JsonObject } from '../../core/call.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { Input } from '../command.ts';
import { checkAdded } from '../edit/check-added.ts';
import { placeSecrets } from '../edit/move-secrets.ts';
import type { NamedServer } from '../edit/new-servers.ts';
import { askYes, canAsk } from '../input/ask.ts';
import { diffText, printDiff } from '../print/print-diff.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { applyConnect } from './apply-connect.ts';
import { type ConnectRecord, hostKeyName, keyFile } from './connect-record.ts';
import { findHostKey, gatewayAddress, launcherEntry, urlEntry } from './gateway-entry.ts';
import { type HostTarget, isReadableByOthers } from './host-file.ts';
import { type Choices, type ConnectState, connectedText, readState, type StateOptions } from './plan-connect.ts';
import { addServers } from './survey-servers.ts';

interface HostOptions extends StateOptions {
  readonly input: Input;
}

/** The entry that the host gets, and its key. */
interface Endpoint {
  readonly entryWith: (key: string) => JsonObject;
  /** The key to use; undefined creates one. */
  readonly key: string | undefined;
  /** True if the host's file has the key, false if it names the file of the key. */
  readonly isInFile: boolean;
  /** A phrase for the user: the effect of the entry. */
  readonly does: string;
}

// Shown as redacted. The key is created after the user has agreed.
const NEW_KEY = 'hk_new';

/** Connects one host: shows the change, asks, imports its servers, and writes its file. */
export async function connectHost(where: HostTarget, options: HostOptions): Promise<number> {
  const { input, home, userFile } = options;
  const state = await readState(where, options);
  const asks = canAsk() && !['yes', 'json', 'dry-run'].some((name) => input.flag(name));
  if (!input.flag('json')) printFindings(state);
  const choices = await choose(state, asks ? askYes : async () => true, options);
  const endpoint = await endpointOf(state, options);
  const text = connectedText(state, endpoint.entryWith(endpoint.key ?? NEW_KEY), choices);
  const report = await reportOf(state, choices, input);
  if (text === state.current.text && choices.imported.length === 0) return noChange(state, report, input);
  const { redacted } = HOSTS[where.host];
  const [before, after] = [redacted(state.current.text), redacted(text)] as const;
  if (input.flag('dry-run') || !(asks || input.flag('yes'))) {
    return preview({ ...report, before, after, userFile }, report, input);
  }
  if (asks && !(await agreed({ ...report, before, after, userFile }))) return 0;
  const importServers = () => addServers(choices.imported, userFile, input);
  const record = await applyConnect(state, { ...endpoint, home, choices, importServers });
  const isJson = input.flag('json');
  if (!isJson) await printDone(state, { record, endpoint, userFile, ...report });
  const { same, disabled } = state.survey;
  const approvals = await checkAdded([...report.imported, ...same.filter((name) => !disabled.has(name))], input, true);
  const { backup, key = null } = record;
  if (isJson) printJson({ ...report, changed: true, backup, key, approvals });
  return 0;
}

function printFindings({ where, survey, notes }: ConnectState): void {
  const { title } = HOSTS[where.host];
  for (const note of notes) notice(`${where.file}: ${note}`);
  for (const name of survey.different) {
    notice(
      `${name} differs from Heddle’s server of that name, so it stays enabled in ${title}. ` +
        `\`heddle import ${where.host} ${name} --write --force\` takes it over.`,
    );
  }
  for (const [name, reason] of survey.unset) {
    if (survey.disabled.has(name)) continue;
    notice(`${name} stays enabled in ${title}: ${reason} Set it where Heddle runs, then connect again.`);
  }
}

/** Decides which servers are imported and disabled. `confirm` returns true without a terminal. */
async function choose(
  { where, survey, record }: ConnectState,
  confirm: (question: string) => Promise<boolean>,
  { input, userFile, config }: HostOptions,
): Promise<Choices> {
  const format = HOSTS[where.host];
  const names = survey.missing.map(({ name }) => name);
  const wanted = names.length > 0 && !input.flag('no-import') && config.exclusive === undefined;
  if (names.length > 0 && config.exclusive) noticeNotImported(config.exclusive, format.title, names);
  const asked = `${format.title} has servers that Heddle has not: ${names.join(', ')}. Import them into ${userFile}?`;
  const imported = wanted && (await confirm(asked)) ? survey.missing : [];
  const there = [...imported.map(({ name }) => name), ...survey.same].filter(
    (name) => !survey.disabled.has(name) && !survey.unset.has(name),
  );
  const keepServers = input.flag('keep-servers') && (record?.disabled.length ?? 0) > 0;
  if (there.length === 0 || input.flag('keep-servers')) return { imported, disabled: [], keepServers };
  const how = format.hasSwitch ? '' : ` (${format.title} has no setting for it, so their entries are taken out)`;
  const both = `Disable them in ${format.title}, so that no tool appears twice: ${there.join(', ')}${how}?`;
  return { imported, disabled: (await confirm(both)) ? there : [], keepServers };
}

// They would have no effect in Heddle's file, and would be missing in the host.
const noticeNotImported = ({ file }: SourceLocation, title: string, names: readonly string[]) =>
  notice(
    `Not imported, so they stay in ${title}: ${names.join(', ')}. ${file} is the only source of servers on this machine.`,
  );

async function endpointOf({ where, entry }: ConnectState, { config, home, input }: HostOptions): Promise<Endpoint> {
  const { title, transports } = HOSTS[where.host];
  const key = await findHostKey(await hostKeyName(home, where), entry);
  const stdio = {
    entryWith: () => launcherEntry(process.env, keyFile(home, where)),
    key,
    isInFile: false,
    does: `${title} starts \`heddle serve --stdio\``,
  };
  if (!input.flag('url')) return stdio;
  if (!transports.includes('http')) {
    notice(`${title} keeps no URLs of servers in its file, so it gets \`heddle serve --stdio\`.`);
    return stdio;
  }
  const { url, isRunning } = await gatewayAddress(config);
  if (!isRunning) notice(`The gateway is not running at ${url}. Start it with \`heddle up\`.`);
  return { entryWith: (one: string) => urlEntry(url, one), key, isInFile: true, does: `${title} uses ${url}` };
}

async function reportOf({ where, survey }: ConnectState, { imported, disabled }: Choices, input: Input) {
  return {
    host: where.host,
    file: where.file,
    imported: imported.map(({ name }) => name),
    disabled,
    different: survey.different,
    /** The names of the imported secrets in the secret store. */
    secrets: input.flag('plain') ? [] : (await Promise.all(imported.map(secretNames))).flat(),
  };
}

const secretNames = async (server: NamedServer): Promise<readonly string[]> =>
  (await placeSecrets(server)).flatMap(({ parts }) => parts.map(({ name }) => name));

type ConnectReport = Awaited<ReturnType<typeof reportOf>>;

interface Shown {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly imported: readonly string[];
  readonly secrets: readonly string[];
  readonly userFile: string;
}

function noChange({ where, record }: ConnectState, report: ConnectReport, input: Input): number {
  if (input.flag('json')) printJson({ ...report, changed: false });
  else {
    const undo = record === undefined ? '' : ` To undo: heddle connect ${where.host} --undo`;
    print(`${HOSTS[where.host].title} is connected already. Nothing was changed.${undo}`);
  }
  return 0;
}

function preview(shown: Shown, report: ConnectReport, input: Input): number {
  if (input.flag('json')) {
    printJson({ ...report, changed: false, diff: diffText(shown.file, shown.before, shown.after) });
    return 0;
  }
  showChange(shown);
  print(`Nothing was changed. To do it: heddle connect ${report.host}${input.flag('url') ? ' --url' : ''} --yes`);
  return 0;
}

function showChange({ file, before, after, imported, secrets, userFile }: Shown): void {
  if (imported.length > 0) print(`Import into ${userFile}: ${imported.join(', ')}`);
  if (secrets.length > 0) print(`Move into the secret store: ${secrets.join(', ')}`);
  printDiff(file, before, after);
  if (before === after) notice('The change is in values that are not shown.');
}

async function agreed(shown: Shown): Promise<boolean> {
  showChange(shown);
  if (await askYes(`Write ${shown.file}?`)) return true;
  print('Nothing was changed.');
  return false;
}

interface Done extends Pick<ConnectReport, 'imported' | 'disabled'> {
  readonly record: ConnectRecord;
  readonly endpoint: Endpoint;
  readonly userFile: string;
}

async function printDone({ where }: ConnectState, done: Done): Promise<void> {
  const { record, endpoint, imported, disabled, userFile } = done;
  const { title, hasSwitch } = HOSTS[where.host];
  if (imported.length > 0) print(`Imported into ${userFile}: ${imported.join(', ')}`);
  if (disabled.length > 0) print(`${hasSwitch ? 'Disabled in' : 'Taken out of'} ${title}: ${disabled.join(', ')}`);
  print(`Connected: ${endpoint.does}. Restart ${title} to use it.`);
  print(`Its key is ${record.key} (role user, with a person: you). \`heddle key list\` shows it.`);
  if (endpoint.isInFile && (await isReadableByOthers(where.file))) {
    const chmod = quoteCommand(['chmod', '600', where.file]);
    notice(`Other users of this machine can read ${where.file}, which has a key now. \`${chmod}\` changes that.`);
  }
  print(
    `As it was: ${record.existed ? record.backup : 'there was no file'}. To undo: heddle connect ${where.host} --undo`,
  );
}
