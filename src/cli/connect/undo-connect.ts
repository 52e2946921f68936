import { rm } from 'node:fs/promises';
import { HOSTS } from '../../config/hosts/hosts.ts';
import { HeddleError } from '../../core/errors.ts';
import { withFileLock } from '../../files/file-lock.ts';
import { homeFolder } from '../../files/home-folder.ts';
import type { Input } from '../command.ts';
import { problemError } from '../edit/problem-error.ts';
import { diffText, printDiff } from '../print/print-diff.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import {
  type ConnectRecord,
  keyFile,
  readBackup,
  readRecord,
  recordFile,
  removeRecord,
  sha256,
} from './connect-record.ts';
import { revokeHostKey } from './gateway-entry.ts';
import { undoEdits } from './host-changes.ts';
import { type HostTarget, type HostText, readHostText, removeHostFile, replaceHostText } from './host-file.ts';

/** The text of a host's file without the changes of connect. */
export interface UndoneText {
  readonly text: string;
  /** True if it is the text before connect, byte for byte. */
  readonly exact: boolean;
  /** The changed values that stay, because they have changed again since. */
  readonly kept: readonly string[];
}

/** Takes the changes of connect back: whole if the file has not changed since, else value by value. */
export async function undoneText(record: ConnectRecord, current: string): Promise<UndoneText> {
  const { host, changes, entryPath, written, backup } = record;
  const before = await readBackup(record);
  if (before !== undefined && (current === before || written.includes(sha256(current)))) {
    return { text: before, exact: true, kept: [] };
  }
  const format = HOSTS[host];
  const value = format.parse(current, record);
  if (!('root' in value)) throw problemError(value);
  const { edits, kept } = undoEdits(value.root, changes, entryPath);
  const text = format.edit(current, edits);
  if (text !== undefined) return { text, exact: false, kept: kept.map((path) => path.join('.')) };
  throw new HeddleError('CONFIG_INVALID', `The layout of ${record.file} does not allow to take the changes back.`, {
    fix: `Remove the entry \`${entryPath.join('.')}\` by hand. The file as it was: ${backup}.`,
  });
}

/** Undoes `heddle connect` of one host. */
export function undoConnect(where: HostTarget, input: Input): Promise<number> {
  const home = homeFolder(process.env);
  return withFileLock(recordFile(home, where), async () => {
    const record = await readRecord(home, where);
    if (record === undefined) throw notConnected(where);
    const current = await readHostText(where.file);
    const isGone = !current.existed && record.existed;
    const undone = isGone ? { text: '', exact: false, kept: [] } : await undoneText(record, current.text);
    if (input.flag('dry-run')) return showUndo(record, [current.text, undone.text], input);
    if (!isGone) await restoreFile(record, current, undone);
    const revoked = record.key !== undefined && (await revokeHostKey(record.key));
    await rm(keyFile(home, record), { force: true });
    await removeRecord(home, record);
    if (undone.exact) await rm(record.backup, { force: true });
    report(record, { ...undone, revoked, result: isGone ? 'gone' : resultOf(record, undone) }, input);
    return 0;
  });
}

interface UndoResult extends UndoneText {
  readonly revoked: boolean;
  readonly result: keyof typeof SENTENCES;
}

const resultOf = ({ existed }: ConnectRecord, { exact }: UndoneText) =>
  exact ? (existed ? 'restored' : 'removed') : 'edited';

function report(record: ConnectRecord, { exact, kept, revoked, result }: UndoResult, input: Input): void {
  const { host, file, backup, disabled, key } = record;
  if (input.flag('json')) {
    printJson({ host, file, undone: result, kept, enabled: disabled, revoked, backup: exact ? null : backup });
    return;
  }
  print(SENTENCES[result](file));
  for (const path of kept) notice(`\`${path}\` was changed since, and stays as it is now.`);
  if (!exact) print(`As it was before: ${backup}`);
  if (revoked) print(`The key ${key} is revoked.`);
  if (disabled.length > 0) notice('Heddle keeps the servers that it has; `heddle remove <name>` removes one.');
}

const SENTENCES = {
  gone: (file: string) => `${file} is gone, so there was nothing to restore in it.`,
  edited: (file: string) => `${file} was changed since; only the changes of \`heddle connect\` were taken back.`,
  restored: (file: string) => `${file} is as it was, byte for byte.`,
  removed: (file: string) => `${file} was new, and is gone again.`,
} as const;

async function restoreFile(record: ConnectRecord, current: HostText, { text, exact }: UndoneText): Promise<void> {
  const { file, existed, createdFolder } = record;
  if (exact && !existed) await removeHostFile(file, createdFolder);
  else if (text !== current.text) await replaceHostText(file, current, text);
}

function showUndo({ host, file }: ConnectRecord, texts: readonly [string, string], input: Input): number {
  const [before, after] = texts.map(HOSTS[host].redacted) as [string, string];
  if (input.flag('json')) printJson({ host, file, undone: null, diff: diffText(file, before, after) });
  else {
    printDiff(file, before, after);
    print('Nothing was changed.');
  }
  return 0;
}

const notConnected = ({ host, file }: HostTarget) =>
  new HeddleError('NAME_UNKNOWN', `${HOSTS[host].title} is not connected: there is no record for ${file}.`, {
    fix: `Run \`heddle connect ${host}\` to connect it, or remove an entry written by hand yourself.`,
  });
