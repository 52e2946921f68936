import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aCall, ada, aTarget } from '../../core/fixtures.ts';
import type { JournalEntry, StoredRun } from '../../store/run-journal.ts';
import { entryOf, runOf } from '../../store/runs/fixtures.ts';
import { type LeftRunsOptions, leftRuns } from './left-runs.ts';

const call = aCall({ name: 'mcp__workflow__pay', target: aTarget({ name: 'pay' }), input: { to: 'Cy', sum: 1 } });
const PENDING = { id: 'ap_1', approvers: ['key:ops'], expiresAt: 9, reason: '' };
const WAITING = runOf('run_1', { status: 'waiting' });

interface Kept {
  readonly entries?: Readonly<Record<string, readonly JournalEntry[]>>;
  readonly runs?: readonly StoredRun[];
  readonly keepOpenMs?: number;
  /** The time if no approver is present. */
  readonly unattendedMs?: number;
  readonly isOwn?: LeftRunsOptions['isOwn'];
  readonly origin?: LeftRunsOptions['origin'];
}

/** Returns the runs that calls have left, over a journal in memory and a clock that the test sets. */
function open({ entries = {}, runs = [], keepOpenMs = 0, isOwn = async () => true, origin, unattendedMs }: Kept) {
  const keptOpen = (id: string | undefined) => (id === undefined ? keepOpenMs : (unattendedMs ?? keepOpenMs));
  const left = new Map<string, string | undefined>();
  const time = { now: 1000 };
  const pending = new Set(['ap_1']);
  const journal: LeftRunsOptions['journal'] = {
    get: async (id) => runs.find((run) => run.id === id),
    entries: async (run, _after, kinds) => (entries[run] ?? []).filter(({ kind }) => kinds?.includes(kind)),
    leave: async (run, digest) => void left.set(run, digest),
    leftBy: async (caller, digest) =>
      runs.filter(({ id, ...run }) => run.caller.id === caller && left.get(id) === digest),
  };
  const pendingApproval = async (id: string) => (pending.has(id) ? PENDING : undefined);
  const options = {
    journal,
    isOwn,
    origin,
    pendingApproval,
    keepOpenMs: async (id?: string) => keptOpen(id),
    clock: () => time.now,
  };
  return { opened: leftRuns(options), left, time, pending };
}

const waits = (detail: JournalEntry['detail']) => ({ kind: 'waiting', path: 'ok', detail });
const ENTRIES = { run_1: [entryOf(1, waits({ approval: 'ap_1' }))] };

verifies('W5', 'leaves a run when its call has waited keepOpenMs for persons, all waits counted', async () => {
  const { opened, left, time, pending } = open({ entries: ENTRIES, keepOpenMs: 100 });
  const check = opened.limit(call);
  await check(WAITING);
  time.now += 60;
  pending.clear();
  await check(WAITING);
  pending.add('ap_1');
  time.now += 39;
  await check(WAITING);
  expect(left.size).toBe(0);
  time.now += 1;
  await expect(check(WAITING)).rejects.toMatchObject({
    code: 'APPROVAL_PENDING',
    message: 'mcp__workflow__pay began the run run_1, which waits for the approval ap_1.',
    fix: expect.stringMatching(/key:ops.*repeat the same call.*heddle runs show run_1/),
    details: { approval: 'ap_1', approvers: ['key:ops'], expiresAt: 9, run: 'run_1' },
  });
  expect([...left.keys()]).toEqual(['run_1']);
});

verifies('W5', 'leaves a run sooner if no approver is present, and one in doubt after keepOpenMs', async () => {
  const { opened, time } = open({ entries: ENTRIES, keepOpenMs: 100, unattendedMs: 10 });
  const check = opened.limit(call);
  await check(WAITING);
  time.now += 10;
  await check(runOf('run_1', { status: 'in_doubt' }));
  await expect(check(WAITING)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
  time.now += 90;
  await expect(check(runOf('run_1', { status: 'in_doubt' }))).rejects.toMatchObject({ code: 'RUN_IN_DOUBT' });
});

verifies('W5', 'leaves a run that waits in a run below it or is in doubt, and no other', async () => {
  const below = runOf('run_2', { status: 'waiting' });
  const entries = { run_1: [entryOf(1, waits({ child: 'run_2' }))], run_2: ENTRIES.run_1 };
  const check = (run: StoredRun, kept: Kept) => open(kept).opened.limit(call)(run);
  await expect(check(WAITING, { entries, runs: [below] })).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
  const doubt = { code: 'RUN_IN_DOUBT', fix: expect.stringContaining('heddle runs show run_1') };
  await expect(check(runOf('run_1', { status: 'in_doubt' }), {})).rejects.toMatchObject(doubt);
  await check(runOf('run_1'), { entries: ENTRIES });
  await check(WAITING, {});
  await check(WAITING, { entries: { run_1: [...ENTRIES.run_1, entryOf(2, { kind: 'decided', path: 'ok' })] } });
});

verifies('W5', 'finds a run by caller, profile, workflow and equal arguments', async () => {
  const own = runOf('run_1', { status: 'waiting', caller: ada });
  const { opened } = open({ entries: ENTRIES, runs: [own] });
  expect(await opened.find(call)).toBeUndefined();
  await expect(opened.limit(call)(own)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
  expect(await opened.find(aCall({ ...call, id: 'other', input: { sum: 1, to: 'Cy' } }))).toBe(own);
  const others = [
    { input: { to: 'Cy', sum: 2 } },
    { target: aTarget({ name: 'refund' }) },
    { caller: { ...ada, profile: 'work' } },
    { caller: { ...ada, id: 'bo' } },
  ];
  for (const other of others) expect(await opened.find(aCall({ ...call, ...other }))).toBeUndefined();
});

verifies('W5', 'finds no run of an earlier key with the same name', async () => {
  const own = runOf('run_1', { status: 'waiting', caller: ada });
  const { opened } = open({ entries: ENTRIES, runs: [own], isOwn: async () => false });
  await expect(opened.limit(call)(own)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
  expect(await opened.find(call)).toBeUndefined();
});

verifies('W5', 'finds no run of another origin', async () => {
  const run = runOf('run_1', { status: 'waiting', caller: ada, origin: { folder: '/shop' } });
  const foundIn = async (origin: LeftRunsOptions['origin']) => {
    const { opened } = open({ entries: ENTRIES, runs: [run], origin });
    await expect(opened.limit(call)(run)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
    return opened.find(call);
  };
  expect(await foundIn({ folder: '/clone' })).toBeUndefined();
  expect(await foundIn({ folder: '/shop' })).toBe(run);
  expect(await foundIn(undefined)).toBe(run);
});
