import { createHash } from 'node:crypto';
import type { Json } from '../../core/call.ts';
import type { JournalEntry, JournalValue, JournalWrite, StoredRun } from '../run-journal.ts';
import type { ClaimedRun, ClaimOptions, RunOwner } from '../run-queue.ts';

/** Returns a value as a journal stores it. */
export function journalValue(value: Json): JournalValue {
  const json = JSON.stringify(value);
  return { sha256: createHash('sha256').update(json).digest('hex'), json };
}

export const DEFINITION = journalValue({ name: 'digest', steps: [] });
export const INPUT = journalValue({ query: 'x' });

export function runOf(id: string, change: Partial<StoredRun> = {}): StoredRun {
  return {
    id,
    workflow: 'digest',
    digest: DEFINITION.sha256,
    interpreter: 1,
    status: 'running',
    caller: { id: 'key:ci', roles: ['operator'], via: 'gateway' },
    depth: 0,
    startedAt: 1_000,
    input: INPUT.sha256,
    signalSeen: 0,
    ...change,
  };
}

export function entryOf(sequence: number, change: Partial<JournalEntry> = {}): JournalEntry {
  return { sequence, at: 1_000 + sequence, kind: 'started', path: `step-${sequence}`, detail: { sequence }, ...change };
}

export const OWNER: RunOwner = { id: 'one', pid: 101, startedAt: '1' };

export const claimOptions = (change: Partial<ClaimOptions> = {}): ClaimOptions => ({
  owner: OWNER,
  now: 9_000,
  limit: 10,
  isAlive: () => true,
  ...change,
});

/** Returns a write of entries by the owner of a claimed run. */
export const writeOf = (
  { run, lease }: Pick<ClaimedRun, 'run' | 'lease'>,
  sequences: readonly number[],
  more: Partial<JournalWrite> = {},
): JournalWrite => ({
  fence: { run: run.id, epoch: lease.epoch },
  entries: sequences.map((sequence) => entryOf(sequence)),
  ...more,
});
