import { homedir } from 'node:os';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.ts';
import { emptyFile, withServer, writtenServers } from '../../config/edit/edit-servers.ts';
import type { ImportableFile } from '../../config/hosts/find-imports.ts';
import { expandText } from '../../config/read/expand.ts';
import type { JsonObject } from '../../core/call.ts';
import { readTextFile } from '../../files/edit-file.ts';
import type { Input } from '../command.ts';
import { applyChange, requireJson } from '../edit/change-file.ts';
import { compareServer } from '../edit/compare-server.ts';
import { settleSecrets } from '../edit/move-secrets.ts';
import type { NamedServer } from '../edit/new-servers.ts';

/** The servers of a host's file, compared with those that Heddle has for every project of the user. */
export interface Survey {
  /** Heddle has no server of this name. */
  readonly missing: readonly NamedServer[];
  /** Heddle has the same server. */
  readonly same: readonly string[];
  /** Heddle has another server of this name. */
  readonly different: readonly string[];
  /** The servers that the host does not start: they need not be disabled. */
  readonly disabled: ReadonlySet<string>;
  /** By server: why Heddle cannot start it with the variables of this shell. The host may ask the user for them. */
  readonly unset: ReadonlyMap<string, string>;
}

interface SurveyOptions {
  readonly found: Pick<ImportableFile, 'servers'> | undefined;
  readonly config: Pick<Config, 'servers'>;
  /** Heddle's own file of the user. */
  readonly userFile: string;
  /** The servers that an earlier connect disabled. */
  readonly settled: readonly string[];
}

/**
 * Compares the servers of a host with those in Heddle's own folder. A server that Heddle reads from another program's
 * file counts as missing: it would be lost with that file.
 */
export async function surveyServers({ found, config, userFile, settled }: SurveyOptions): Promise<Survey> {
  const text = requireJson(userFile, await readTextFile(userFile));
  const own = writtenServers(text);
  const missing: NamedServer[] = [];
  const same: string[] = [];
  const different: string[] = [];
  const entries = Object.entries(found?.servers ?? {}).filter(([name]) => !settled.includes(name));
  const disabled = new Set(entries.filter(([, { enabled }]) => enabled === false).map(([name]) => name));
  const unset = new Map(entries.flatMap(([name, entry]) => unsetVariable(entry).map((reason) => [name, reason])));
  for (const [name, entry] of entries) {
    const other = config.servers.get(name);
    const elsewhere = other?.at && dirname(other.at.file) === dirname(userFile) ? other.written : undefined;
    const state = await compareServer({ name, entry }, own.get(name) ?? elsewhere);
    if (state === 'new') missing.push({ name, entry });
    else if (state === 'same') same.push(name);
    else if (!disabled.has(name)) different.push(name);
  }
  return { missing, same, different, disabled, unset };
}

/** Returns the message about the first variable of an entry that is not set here; empty if there is none. */
function unsetVariable(entry: JsonObject): readonly string[] {
  const variables = { env: process.env, workspaceFolder: process.cwd(), userHome: homedir() };
  const { failures } = expandText(JSON.stringify(entry), variables);
  return failures
    .filter(({ code }) => code === 'VARIABLE_UNSET')
    .map(({ message }) => message)
    .slice(0, 1);
}

/** Adds servers to the user's file. Their secrets go into the secret store, unless `--plain` keeps them. */
export async function addServers(given: readonly NamedServer[], userFile: string, input: Input): Promise<void> {
  if (given.length === 0) return;
  const { servers } = await settleSecrets(given, userFile, input);
  const edit = (before: string): string => {
    const start = before.trim() === '' ? emptyFile() : requireJson(userFile, before);
    // Another process may have added one of them since the first read.
    const there = writtenServers(start);
    const fresh = servers.filter(({ name }) => !there.has(name));
    return fresh.reduce((text, { name, entry }) => withServer(text, name, entry), start);
  };
  await applyChange({ file: userFile, edit }, false);
}
