import { rm } from 'node:fs/promises';
import { HOSTS } from '../../config/hosts/hosts.ts';
import type { JsonObject } from '../../core/call.ts';
import { withFileLock } from '../../files/file-lock.ts';
import { writePrivateFile } from '../../files/private-file.ts';
import { problemError } from '../edit/problem-error.ts';
import {
  backupFile,
  type ConnectRecord,
  hostKeyName,
  readRecord,
  recordFile,
  removeRecord,
  sha256,
  writeRecord,
} from './connect-record.ts';
import { createHostKey, revokeHostKey } from './gateway-entry.ts';
import { changesBetween } from './host-changes.ts';
import { changedMeanwhile, firstMissingFolder, readHostText, replaceHostText } from './host-file.ts';
import { type Choices, type ConnectState, connectedText } from './plan-connect.ts';

export interface ApplyOptions {
  readonly home: string;
  readonly choices: Choices;
  /** Returns Heddle's entry. With a key, the entry is a URL. */
  readonly entryWith: (key: string) => JsonObject;
  /** The key to use: undefined creates one, null needs none. */
  readonly key: string | undefined | null;
  /** Adds the imported servers to Heddle's file. */
  readonly importServers: () => Promise<void>;
}

/**
 * Imports the servers, then changes the host's file. The copy and the record are written first: after a kill, the file
 * is as before or as after, and `--undo` works either way. Returns the record.
 */
export function applyConnect(state: ConnectState, options: ApplyOptions): Promise<ConnectRecord> {
  const { where, current, base, record: earlier } = state;
  const { home, importServers } = options;
  return withFileLock(recordFile(home, where), async () => {
    const now = await readHostText(where.file);
    const changedRecord = JSON.stringify(await readRecord(home, where)) !== JSON.stringify(earlier);
    if (now.text !== current.text || changedRecord) throw changedMeanwhile(where.file);
    await importServers(); // First: a server that the host no longer starts must be in Heddle.
    const pending = await pendingRecord(state, options);
    await writePrivateFile(pending.backup, base);
    await writeRecord(home, pending);
    try {
      const record = await writeHostFile(state, pending, options);
      if (earlier?.key !== undefined && record.key === undefined) await revokeHostKey(earlier.key);
      if (earlier !== undefined && earlier.backup !== record.backup) await rm(earlier.backup, { force: true });
      return record;
    } catch (thrown) {
      await withdraw(state, pending, home);
      throw thrown;
    }
  });
}

async function writeHostFile(
  state: ConnectState,
  pending: ConnectRecord,
  { home, key, entryWith, choices }: ApplyOptions,
): Promise<ConnectRecord> {
  const { where, current } = state;
  const used = key === undefined ? await createHostKey(pending.key ?? '') : (key ?? '');
  const text = connectedText(state, entryWith(used), choices);
  const record = { ...pending, ...recordOf(state, text) };
  await writeRecord(home, record);
  await replaceHostText(where.file, current, text);
  return record;
}

/** Puts back the record of before, because the host's file was not changed. */
async function withdraw({ record: earlier }: ConnectState, pending: ConnectRecord, home: string): Promise<void> {
  if (pending.key !== undefined && earlier?.key === undefined) await revokeHostKey(pending.key);
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
    ...(key !== null && { key: await hostKeyName(home, where) }),
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
