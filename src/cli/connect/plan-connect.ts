import type { Config } from '../../config/config.ts';
import type { JsonPath } from '../../config/document.ts';
import { findImports } from '../../config/hosts/find-imports.ts';
import { HOSTS } from '../../config/hosts/hosts.ts';
import { valueAt } from '../../config/read/describe-issue.ts';
import { OWN_NAME } from '../../config/read/own-entry.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { problemError } from '../edit/problem-error.ts';
import { type ConnectRecord, readRecord } from './connect-record.ts';
import { type HostTarget, type HostText, readHostText, requireText, requireWritable } from './host-file.ts';
import { type Survey, surveyServers } from './survey-servers.ts';
import { undoneText } from './undo-connect.ts';

/** The state of a host before `heddle connect` changes it. */
export interface ConnectState {
  readonly where: HostTarget;
  readonly current: HostText;
  readonly record: ConnectRecord | undefined;
  /** The text that `--undo` will restore. */
  readonly base: string;
  readonly entryPath: JsonPath;
  /** Heddle's entry in the host's file. */
  readonly entry: Json | undefined;
  readonly survey: Survey;
  /** The reasons why servers of the host cannot be imported. */
  readonly notes: readonly string[];
}

export interface StateOptions {
  readonly config: Config;
  readonly home: string;
  readonly userFile: string;
}

/** Reads a host's file, the record of an earlier connect and the host's servers. Throws for a file that cannot be edited. */
export async function readState(where: HostTarget, { config, home, userFile }: StateOptions): Promise<ConnectState> {
  const current = await readHostText(where.file);
  await requireWritable(where.file);
  const value = HOSTS[where.host].parse(current.text, where);
  if (!('root' in value)) throw problemError(value);
  const entryPath = [...value.at, OWN_NAME];
  const record = await readRecord(home, where);
  const base = record === undefined ? current.text : (await undoneText(record, current.text)).text;
  const [found] = await findImports([where]);
  const survey = await surveyServers({ found, config, userFile, settled: record?.disabled ?? [] });
  const problems = (found?.problems ?? []).filter(({ level }) => level === 'error').map(({ message }) => message);
  const notes = [...(found?.notes ?? []), ...problems];
  return { where, current, record, base, entryPath, entry: valueAt(value.root, entryPath), survey, notes };
}

/** The decisions of the user: which servers Heddle gets, and which the host no longer starts. */
export interface Choices {
  readonly imported: Survey['missing'];
  readonly disabled: readonly string[];
  /** True to enable again what an earlier connect disabled. */
  readonly keepServers: boolean;
}

/** Returns the text of the host's file with Heddle's entry, and without the servers that Heddle has now. */
export function connectedText({ where, current, base }: ConnectState, entry: JsonObject, choices: Choices): string {
  const format = HOSTS[where.host];
  const start = choices.keepServers ? base : current.text;
  const added = requireText(format.to({ [OWN_NAME]: entry }, start, where));
  return requireText(format.disable(choices.disabled, added, where));
}
