import { readFile, rm } from 'node:fs/promises';
import { HOSTS } from '../../config/hosts/hosts.ts';
import type { JsonObject } from '../../core/call.ts';
import { withFileLock } from '../../files/file-lock.ts';
import { writePrivateFile } from '../../files/private-file.ts';
import { problemError } from '../edit/problem-error.ts';
import {
  backupFile,
  type ConnectRecord,
  hostKeyName,
  keyFile,
  readRecord,
  recordFile,
  removeRecord,
  sha256,
  writeRecord,
} from './connect-record.ts';
import { createHostKey, freeKeyName, revokeHostKey, revokeOtherKeys } from './gateway-entry.ts';
import { changesBetween } from './host-changes.ts';
import { changedMeanwhile, firstMissingFolder, readHostText, replaceHostText } from './host-file.ts';
import { type Choices, type ConnectState, connectedText } from './plan-connect.ts';

export interface ApplyOptions {
  readonly home: string;
  readonly choices: Choices;
  /** Returns Heddle's entry with this key. */
  readonly entryWith: (key: string) => JsonObject;
  /** The key to use; undefined creates one. */
  readonly key: string | undefined;
  /** True if the host's file has the key, false if it names the file of the key. */
  readonly isInFile: boolean;
  /** Adds the imported servers to Heddle's file. */
  readonly importServers: () => Promise<void>;
}

/**
 * Imports the servers, then changes the host's file. The copy and the record are written first: after a kill, the file
 * is as before or as after, and `--undo` works either way. Returns the record.
 */
export function applyConnect(state: ConnectState, options: ApplyOptions): Promise<ConnectRecord> {
  const { where, current, base, record: earlier } = state;
  const { home, importServers, key } = options;
  return withFileLock(recordFile(home, where), async () => {
    const now = await readHostText(where.file);
    const changedRecord = JSON.stringify(await readRecord(home, where)) !== JSON.stringify(earlier);
    if (now.text !== current.text || changedRecord) throw changedMeanwhile(where.file);
    await importServers(); // First: a server that the host no longer starts must be in Heddle.
    const pending = await pendingRecord(state, options);
    const keyText = await readFile(keyFile(home, where), 'utf8').catch(() => undefined);
    await writePrivateFile(pending.backup, base);
    await writeRecord(home, pending);
    const record = await writeHostFile(state, pending, options).catch(async (thrown) => {
      await withdraw(state, pending, { home, isNewKey: key === undefined, keyText });
      throw thrown;
    });
    if (key === undefined && record.key !== undefined) await revokeOtherKeys(record.key);
    if (earlier !== undefined && earlier.backup !== record.backup) await rm(earlier.backup, { force: true });
    return record;
  });
}

async function writeHostFile(
  state: ConnectState,
  pending: ConnectRecord,
  { home, key, entryWith, choices, isInFile }: ApplyOptions,
): Promise<ConnectRecord> {
  const { where, current } = state;
  const used = key ?? (await createHostKey(pending.key ?? ''));
  if (!isInFile) await writePrivateFile(keyFile(home, where), `${used}\n`);
  const text = connectedText(state, entryWith(used), choices);
  const record = { ...pending, ...recordOf(state, text) };
  await writeRecord(home, record);
  await replaceHostText(where.file, current, text);
  if (isInFile) await rm(keyFile(home, where), { force: true });
  return record;
}

interface Before {
  readonly home: string;
  readonly isNewKey: boolean;
  /** The text of the key's file. */
  readonly keyText: string | undefined;
}

/** Puts back the record and the key of before, because the host's file was not changed. */
async function withdraw({ record: earlier }: ConnectState, pending: ConnectRecord, before: Before): Promise<void> {
  const { home, isNewKey, keyText } = before;
  if (keyText === undefined) await rm(keyFile(home, pending), { force: true });
  else await writePrivateFile(keyFile(home, pending), keyText);
  if (isNewKey && pending.key !== undefined) await revokeHostKey(pending.key);
  if (earlier !== undefined) await writeRecord(home, earlier);
  else await removeRecord(home, pending);
  if (earlier?.backup !== pending.backup) await rm(pending.backup, { force: true });
}

/** Returns the record before the file is changed: it has the key's name, so that an undo revokes the key. */
async function pendingRecord(state: ConnectState, { home, choices, key }: ApplyOptions): Promise<ConnectRecord> {
  const { where, current, base, entryPath, record } = state;
  const { host, file } = where;
  const disabledBefore = choices.keepServers ? [] : (record?.disabled ?? []);
  const createdFolder = record === undefined ? await firstMissingFolder(file) : record.createdFolder;
  const keyName = await hostKeyName(home, where);
  return {
    host,
    file,
    existed: record?.existed ?? current.existed,
    ...(createdFolder !== undefined && { createdFolder }),
    backup: backupFile(home, where, base),
    before: sha256(base),
    written: record === undefined ? [] : [sha256(current.text)],
    entryPath,
    changes: record?.changes ?? [],
    disabled: [...disabledBefore, ...choices.disabled],
    key: key === undefined ? await freeKeyName(keyName) : keyName,
  };
}

function recordOf(state: ConnectState, text: string): Pick<ConnectRecord, 'written' | 'changes'> {
  const { where, base, current, record, entryPath } = state;
  const [before, after] = [base, text].map((one) => {
    const value = HOSTS[where.host].parse(one, where);
    if ('root' in value) return value.root;
    throw problemError(value);
  });
  const changes = changesBetween({ before: before ?? {}, after: after ?? {}, entryPath });
  return { written: [...(record === undefined ? [] : [sha256(current.text)]), sha256(text)], changes };
}
