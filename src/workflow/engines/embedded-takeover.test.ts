import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { RunOwner } from '../../store/run-queue.ts';
import { aCallStep, aWorkflow } from '../fixtures.ts';
import { completeWith, type RunBench, runBench } from '../journal/fixtures.ts';
import { advance } from '../run/advance.ts';
import { type EmbeddedEngineOptions, embeddedEngine } from './embedded-engine.ts';

const HEARTBEAT_MS = 20_000;
const dead = new Set<string>();

function engineOf({ store, parts }: RunBench, options: Partial<EmbeddedEngineOptions> = {}) {
  const { runQueue: queue } = store;
  if (!queue) throw new Error('The store has no queue.');
  const owner: RunOwner = { id: crypto.randomUUID(), pid: process.pid, startedAt: 'now' };
  const engine = embeddedEngine({
    journal: parts.journal,
    queue,
    advance: (claimed, signal) => advance(claimed, parts, signal),
    owner,
    isAlive: ({ id }) => !dead.has(id),
    ...options,
  });
  onTestFinished(() => engine.close());
  return { engine, owner };
}

const status = async (bench: RunBench, run: { readonly id: string }) => (await bench.store.runs.get(run.id))?.status;

verifies('W5', 'looks for the runs of dead processes every 5 s, and leaves those of living ones', async () => {
  const bench = await runBench();
  const stuck = Promise.withResolvers<never>();
  bench.respond('read', () => stuck.promise);
  const first = engineOf(bench);
  const run = await bench.create(aWorkflow([aCallStep('read')]));
  await first.engine.start(run.id);
  await until('the call is in flight', () => bench.reached.length === 1);
  const claims: { readonly delayMs: number; readonly claim: () => void }[] = [];
  const timer: EmbeddedEngineOptions['timer'] = (delayMs, claim) => {
    if (delayMs !== HEARTBEAT_MS) claims.push({ delayMs, claim });
    return () => {};
  };
  const now = Date.now();
  engineOf(bench, { pickUp: true, timer, clock: () => now });
  const next = async () => {
    await until('the next claim is planned', () => claims.length > 0);
    return claims.splice(0).at(-1);
  };
  const living = await next();
  expect(living?.delayMs).toBe(5_000);
  living?.claim();
  const dying = await next();
  expect(dying?.delayMs).toBe(5_000);
  expect(bench.reached).toHaveLength(1);
  dead.add(first.owner.id);
  bench.respond('read', () => completeWith({ second: true }));
  dying?.claim();
  await until('the run has ended', async () => (await status(bench, run)) === 'succeeded');
  expect(await bench.output(run)).toEqual({ second: true });
  stuck.reject(new Error('too late'));
});
