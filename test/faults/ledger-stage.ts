import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { expectedActs, expectedUndos, inputOf } from '../servers/every-step.ts';
import { type CallPoint, type LedgerCall, type LedgerServer, ledgerServer } from '../servers/ledger-server.ts';
import { numberedRuns, openLedgerHeddle, startMissing } from '../servers/running-process.ts';
import { temporaryFolder } from '../temporary-heddle.ts';

const programAt = (name: string) => join(import.meta.dirname, '..', 'servers', name);
const RUNNING = programAt('running-process.ts');
const CLAIMING = programAt('claiming-process.ts');

/** A store, a ledger, and the number of runs of `every-step` that are to end. */
export interface LedgerStage {
  readonly folder: string;
  readonly location: string;
  readonly ledger: LedgerServer;
  readonly runs: number;
}

export async function ledgerStage(location: string, runs: number): Promise<LedgerStage> {
  const ledger = await ledgerServer();
  onTestFinished(() => ledger.close());
  return { folder: await temporaryFolder(), location, ledger, runs };
}

/** Starts a process with runs. Resolves when Heddle is open. */
export async function startProcess({ folder, location, ledger, runs }: LedgerStage): Promise<ChildProcess> {
  const child = spawnProcess({ folder, location, ledger, runs });
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child;
}

const spawnProcess = ({ folder, location, ledger, runs }: LedgerStage): ChildProcess =>
  spawnProgram([RUNNING, folder, ledger.url, String(runs), location]);

function spawnProgram(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Resolves with the exit code or the signal of a process. */
export const exitOf = async (child: ChildProcess): Promise<number | string | null> =>
  child.exitCode ?? child.signalCode ?? (await once(child, 'exit').then(([code, signal]) => code ?? signal));

/** Tests whether a process is to be killed now. */
export type KillPoint = (point: CallPoint, call: LedgerCall) => boolean;

/** Starts a process and kills it at the first point that is meant. Returns false if it ended before. */
export async function killAt(stage: LedgerStage, isMeant: KillPoint): Promise<boolean> {
  const child = spawnProcess(stage);
  let killed = false;
  stage.ledger.onPoint = async (point, call) => {
    if (killed) return false;
    if (!isMeant(point, call)) return true;
    killed = true;
    child.kill('SIGKILL');
    await exitOf(child);
    return false;
  };
  child.stdout?.resume();
  await exitOf(child);
  stage.ledger.onPoint = () => true;
  return killed;
}

/** Kills a process that has just claimed a run: it has the lease, and has written no event. */
export async function killInClaim({ folder, location, ledger, runs }: LedgerStage): Promise<void> {
  const heddle = await openLedgerHeddle({ folder, url: ledger.url, store: location, runs: false });
  await startMissing(heddle, runs);
  await heddle.close();
  const child = spawnProgram([CLAIMING, location]);
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  child.kill('SIGKILL');
  await exitOf(child);
}

/** Lets a process end all runs. */
export async function finishRuns(stage: LedgerStage): Promise<void> {
  const child = spawnProcess(stage);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) lines.push(line);
  expect([await exitOf(child), lines.at(-1)]).toEqual([0, 'ended']);
}

const onceEach = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, 1]));

/** Compares the ends of all runs, the entries of the ledger and the audit log with what should have happened. */
export async function checkRuns({ folder, location, ledger, runs }: LedgerStage): Promise<void> {
  const heddle = await openLedgerHeddle({ folder, url: ledger.url, store: location, runs: false });
  try {
    const ended = await numberedRuns(heddle);
    const numbers = Array.from({ length: runs }, (_, n) => n);
    const wrong = numbers.flatMap((n) => {
      const { status, error } = ended.get(n) ?? {};
      return status === (inputOf(n).fails ? 'failed' : 'succeeded') ? [] : { n, status, error };
    });
    expect(wrong).toEqual([]);
  } finally {
    await heddle.close();
  }
  checkEntries(ledger, runs);
  const store = await openStore({ location });
  expect((await store.audit.verify({ signal: new AbortController().signal })).faults).toEqual([]);
  await store.close();
}

/** Checks that no call without idempotency was made twice or lost, and that repeated ones have the same key. */
function checkEntries(ledger: LedgerServer, runs: number): void {
  const numbers = Array.from({ length: runs }, (_, n) => n);
  expect(Object.fromEntries(ledger.count('act'))).toEqual(onceEach(numbers.flatMap(expectedActs)));
  expect(Object.fromEntries(ledger.count('undo'))).toEqual(onceEach(numbers.flatMap(expectedUndos)));
  const puts = ledger.entries.filter(({ tool }) => tool === 'put');
  for (const [key, calls] of Map.groupBy(puts, (call) => call.key))
    expect([key, new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size]).toEqual([key, 1]);
}
