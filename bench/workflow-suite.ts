import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { newCallId } from '../src/core/call/call-id.ts';
import type { Caller, JsonObject } from '../src/core/call.ts';
import type { Heddle } from '../src/heddle.ts';
import { openHeddle } from '../src/open-heddle.ts';
import { median, type Ratio, ratioOf, showRatio, table } from './ratios.ts';

export interface WorkflowResult {
  /** The mean time of one call in milliseconds, and that of one step of a run: the median of all repetitions. */
  readonly dispatchMs: number;
  readonly stepMs: number;
  readonly stepToDispatch: Ratio;
  /** With many runs at once. */
  readonly stepsPerSecond: number;
  readonly dbosStepsPerSecond: number | undefined;
  readonly stepsToDbos: Ratio | undefined;
  /** Growth of the process while one run calls a tool for each of many items. */
  readonly fanoutMegabytes: number;
  readonly fanoutItems: number;
  readonly resumeMs: number;
  readonly resumedEvents: number;
}

const STEPS = 100;
const RUNS_AT_ONCE = 100;
const STEPS_OF_EACH = 20;
const ITEMS = 10_000;
/** Each item leaves several events in the history. */
const RESUMED_ITEMS = 2_500;

const owner: Caller = { id: 'library', roles: ['owner'], via: 'library' };
const echo = { tool: 'upstream.echo', input: { message: 'hello' } };
const chain = (steps: number): JsonObject => ({
  heddle: 1,
  steps: Array.from({ length: steps }, (_, at) => ({ id: `step${at}`, ...echo })),
});
const fanout = {
  items: '$input.items',
  maxConcurrency: 20,
  do: [{ id: 'each', ...echo }],
};
const WORKFLOWS: JsonObject = {
  chain: { name: 'chain', ...chain(STEPS) },
  short: { name: 'short', ...chain(STEPS_OF_EACH) },
  items: { heddle: 1, name: 'items', steps: [{ id: 'all', fanout }], output: '$all.ok' },
  waits: {
    heddle: 1,
    name: 'waits',
    steps: [
      { id: 'all', fanout },
      { id: 'agree', approval: { title: 'Go on?', approvers: ['role:owner'] } },
    ],
    output: '$all.ok',
  },
};

/** Measures runs on SQLite, in turn with calls without a run and with empty steps of DBOS if there is a Postgres server. */
export async function runWorkflowSuite({ reps }: { readonly reps: number }): Promise<WorkflowResult> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const heddle = await open(folder);
  try {
    const turns = await measureSteps(heddle, reps);
    const many = await measureManyRuns(heddle, reps);
    const fanoutMegabytes = await measureFanout(heddle);
    return { ...turns, ...many, fanoutMegabytes, fanoutItems: ITEMS, ...(await measureResume(heddle, folder)) };
  } finally {
    await heddle.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const open = (folder: string): Promise<Heddle> =>
  openHeddle({
    cwd: folder,
    env: { PATH: process.env.PATH, HEDDLE_HOME: join(folder, 'home') },
    runs: true,
    config: {
      approvals: { keepOpenMs: 0 },
      permissions: { allow: ['mcp__upstream', 'mcp__workflow'] },
      workflows: WORKFLOWS,
      mcpServers: {
        upstream: { command: process.execPath, args: [join(import.meta.dirname, 'echo-server.ts'), 'stdio'] },
      },
    },
  });

const settle = async (heddle: Heddle, id: string): Promise<void> => {
  const { success, error } = await heddle.runs.settled(owner, id, new AbortController().signal);
  if (!success) throw new Error(`A measured run failed: ${error?.message}`);
};

async function runOnce(heddle: Heddle, name: string, input: JsonObject = {}): Promise<void> {
  const { id } = await heddle.runs.start(owner, name, input, {});
  await settle(heddle, id);
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

const dispatchOnce = (heddle: Heddle) =>
  heddle.dispatch({
    ...{ id: newCallId(), kind: 'tool', name: echo.tool, input: echo.input, meta: {}, caller: owner, options: {} },
    signal: new AbortController().signal,
  });

async function dispatchMany(heddle: Heddle): Promise<void> {
  for (let call = 0; call < STEPS; call++) await dispatchOnce(heddle);
}

async function measureSteps(heddle: Heddle, reps: number) {
  const direct: number[] = [];
  const steps: number[] = [];
  for (let rep = -1; rep < reps * 5; rep++) {
    // Both are means of as many calls: a median would leave out the slow ones of one side.
    const call = (await timed(() => dispatchMany(heddle))) / STEPS;
    const run = (await timed(() => runOnce(heddle, 'chain'))) / STEPS;
    if (rep < 0) continue; // Warms up.
    direct.push(call);
    steps.push(run);
    process.stderr.write(`workflow ${rep + 1}/${reps * 5} ${call.toFixed(3)} ms call, ${run.toFixed(3)} ms step\n`);
  }
  return { dispatchMs: median(direct), stepMs: median(steps), stepToDispatch: ratioOf(steps, direct) };
}

async function measureDbos(url: string): Promise<number> {
  const { measureDbosSteps } = await import('./dbos-steps.ts');
  return measureDbosSteps({ url, runs: RUNS_AT_ONCE, steps: STEPS_OF_EACH });
}

async function measureManyRuns(heddle: Heddle, reps: number) {
  const url = process.env.HEDDLE_TEST_POSTGRES;
  const total = RUNS_AT_ONCE * STEPS_OF_EACH;
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let rep = 0; rep < reps; rep++) {
    const all = () => Promise.all(Array.from({ length: RUNS_AT_ONCE }, () => runOnce(heddle, 'short')));
    ours.push((total * 1000) / (await timed(all)));
    if (url) theirs.push(await measureDbos(url));
    process.stderr.write(
      `workflow ${rep + 1}/${reps} ${ours.at(-1)?.toFixed(0)} steps/s, DBOS ${theirs.at(-1)?.toFixed(0)}\n`,
    );
  }
  return {
    stepsPerSecond: median(ours),
    dbosStepsPerSecond: url ? median(theirs) : undefined,
    stepsToDbos: url ? ratioOf(ours, theirs) : undefined,
  };
}

/** Returns the highest growth of memory while a run is executed, in megabytes. */
async function measureFanout(heddle: Heddle): Promise<number> {
  const before = process.memoryUsage.rss();
  let highest = before;
  const run = runOnce(heddle, 'items', { items: Array.from({ length: ITEMS }, (_, at) => at) });
  let isOver = false;
  const over = run.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    highest = Math.max(highest, process.memoryUsage.rss());
    await Promise.race([over, setTimeout(20)]);
  }
  await over;
  return (highest - before) / 1024 ** 2;
}

/** Measures the time from the decision about a waiting run with a long history to its end, in another process' place. */
async function measureResume(first: Heddle, folder: string) {
  const input = { items: Array.from({ length: RESUMED_ITEMS }, (_, at) => at) };
  const { id } = await first.runs.start(owner, 'waits', input, { detach: true });
  const pending = async () => (await first.approvals.list(owner, { status: 'pending' }))[0];
  let approval = await pending();
  while (!approval) {
    await setTimeout(50);
    approval = await pending();
  }
  const found = approval;
  await first.close();
  const heddle = await open(folder);
  try {
    const resumedEvents = (await heddle.runs.events(owner, id)).length;
    const resumeMs = await timed(async () => {
      await heddle.approvals.decide(owner, found.id, { verdict: 'approve' });
      await settle(heddle, id);
    });
    return { resumeMs, resumedEvents };
  } finally {
    await heddle.close();
  }
}

export function showWorkflowSuite(result: WorkflowResult): string {
  const { dispatchMs, stepMs, stepsPerSecond, dbosStepsPerSecond, stepsToDbos } = result;
  const rows = [
    ['one step to one call', showRatio(result.stepToDispatch), `${stepMs.toFixed(3)} to ${dispatchMs.toFixed(3)} ms`],
    [
      `steps/s, ${RUNS_AT_ONCE} runs at once, to DBOS with empty steps`,
      stepsToDbos ? showRatio(stepsToDbos) : '–',
      `${stepsPerSecond.toFixed(0)} to ${dbosStepsPerSecond?.toFixed(0) ?? '–'}`,
    ],
    [`memory of a fan-out over ${result.fanoutItems} items`, '', `${result.fanoutMegabytes.toFixed(0)} MB more`],
    [`resume of a run with ${result.resumedEvents} events`, '', `${result.resumeMs.toFixed(0)} ms`],
  ];
  return ['\nWorkflows on SQLite: median (lowest–highest)\n', table([['', 'ratio', 'measured'], ...rows])].join('');
}
