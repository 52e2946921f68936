// A process with runs, which the tests kill. Arguments: the folder, the URL of the ledger, the number of runs of
// `every-step`, and the location of the store. It ends when all runs have ended. With 0 runs it executes those of
// others until its stdin ends.
import type { Caller, Json, JsonObject } from '../../src/core/call.ts';
import { HeddleError } from '../../src/core/errors.ts';
import type { HookFunction } from '../../src/core/records/hook.ts';
import { ENDED_STATUSES, type Run } from '../../src/core/records/run.ts';
import type { Heddle } from '../../src/heddle.ts';
import { openHeddle } from '../../src/open-heddle.ts';
import { inputOf, LEDGER_WORKFLOWS } from './every-step.ts';

/** The owner of all runs. */
export const owner: Caller = { id: 'library', roles: ['owner'], via: 'library' };

export interface LedgerHeddle {
  readonly folder: string;
  readonly url: string;
  readonly store?: string | undefined;
  readonly runs?: boolean;
}

/** Opens Heddle with the ledger as its only server. */
export const openLedgerHeddle = ({ folder, url, store, runs = true }: LedgerHeddle): Promise<Heddle> =>
  openHeddle({
    cwd: folder,
    env: { PATH: process.env.PATH, HEDDLE_HOME: `${folder}/home` },
    runs,
    hooks: { beforeCall: waitInHook(url) },
    config: {
      ...(store !== undefined && { store }),
      approvals: { keepOpenMs: 0 },
      // A machine that is busy with the processes of a soak run has connected after more than 15 s.
      connect: { timeoutMs: 600_000 },
      permissions: { allow: ['mcp__ledger', 'mcp__workflow'] },
      workflows: LEDGER_WORKFLOWS,
      mcpServers: { ledger: { type: 'http', url, trusted: true } },
    },
  });

/** Waits for the ledger before calls of the step `hooked`. */
const waitInHook =
  (url: string): HookFunction<'beforeCall'> =>
  async ({ call }) => {
    if (call.arguments.step === 'hooked') await fetch(`${url}?hook&tool=act&key=${keyOf(call.arguments)}`);
    return undefined;
  };

const keyOf = ({ n, step, item }: JsonObject) => (item === undefined ? `${n}/${step}` : `${n}/${step}/${item}`);

/** Returns the runs of `every-step` by their number. */
export async function numberedRuns(heddle: Heddle): Promise<ReadonlyMap<number, Run>> {
  const all = await heddle.runs.list(owner, { workflow: 'every-step', status: 'all', limit: 1000 });
  const numbered = await Promise.all(
    all.map(async (run) => [Number(((await heddle.runs.get(owner, run.id)).input as JsonObject).n), run] as const),
  );
  return new Map(numbered);
}

/** Starts the runs of `every-step` that do not exist yet. */
export async function startMissing(heddle: Heddle, count: number): Promise<void> {
  const known = await numberedRuns(heddle);
  const missing = Array.from({ length: count }, (_, n) => n).filter((n) => !known.has(n));
  await Promise.all(missing.map((n) => heddle.runs.start(owner, 'every-step', inputOf(n), { detach: true })));
}

/** Settles the calls in doubt of a run, as a person who has looked into the ledger. */
async function settleDoubts(heddle: Heddle, run: Run, url: string): Promise<void> {
  const { doubts } = await heddle.runs.get(owner, run.id);
  for (const { path, tool, records } of doubts) {
    const intent = records.map(({ detail }) => (detail as JsonObject).arguments as JsonObject).find(Boolean);
    if (!intent) throw new Error(`No audit record of ${path} shows the arguments.`);
    const key = keyOf(intent);
    const count = () => fetch(`${url}?tool=${tool.split(/__|\./).at(-1)}&key=${key}`);
    // The ledger may close an idle connection in the moment in which it is used.
    const response = await count().catch(count);
    const isEntered = Number(await response.text()) > 0;
    const result: Json = { content: [], structuredContent: { key, n: Number(key.split('/')[0]) } };
    const how = isEntered ? ({ how: 'happened', result } as const) : ({ how: 'not-happened' } as const);
    // The run may have got the decision since it was read.
    const settled = heddle.runs.resolve(owner, run.id, { path, ...how });
    await settled.catch((thrown) => unless(thrown, 'INPUT_INVALID'));
  }
}

/** Does what the people around a run do, until every run has ended. */
export async function attend(heddle: Heddle, count: number, url: string): Promise<void> {
  // The store may be restarting.
  const isOver = () => attendOnce(heddle, count, url).catch((thrown) => unless(thrown, 'STORE_UNAVAILABLE'));
  while (!(await isOver())) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function attendOnce(heddle: Heddle, count: number, url: string): Promise<boolean> {
  const pending = await heddle.approvals.list(owner, { status: 'pending', limit: 1000 });
  const approve = (id: string) => heddle.approvals.decide(owner, id, { verdict: 'approve' });
  for (const { id } of pending) await approve(id).catch((thrown) => void unless(thrown, 'APPROVAL_SETTLED'));
  const all = await heddle.runs.list(owner, { status: 'all', limit: 1000 });
  for (const run of all.filter(({ status }) => status === 'in_doubt')) await settleDoubts(heddle, run, url);
  return all.length >= count && all.every(({ status }) => ENDED_STATUSES.includes(status));
}

/** Rethrows an error unless it has this code. */
function unless(thrown: unknown, code: string): false {
  if (HeddleError.from(thrown).code !== code) throw thrown;
  return false;
}

const [, program, folder, url, count, store] = process.argv;
if (program === import.meta.filename && folder !== undefined && url !== undefined) {
  const heddle = await openLedgerHeddle({ folder, url, store });
  process.stdout.write('open\n');
  if (count === '0') {
    process.stdin.resume();
    await new Promise((resolve) => process.stdin.once('end', resolve));
  } else {
    await startMissing(heddle, Number(count));
    process.stdout.write('started\n');
    await attend(heddle, Number(count), url);
    process.stdout.write('ended\n');
  }
  await heddle.close();
}
