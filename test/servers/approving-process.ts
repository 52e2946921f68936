// Requests, decides and uses 50 approvals at once, and prints a line after every step. The test kills it at one of them.
import { newCallId } from '../../src/core/call/call-id.ts';
import type { Call } from '../../src/core/call.ts';
import type { Heddle } from '../../src/heddle.ts';
import { openHeddle } from '../../src/open-heddle.ts';

/** The number of calls. */
export const CALLS = 50;
const owner = { id: 'library', roles: ['owner'], via: 'library' } as const;

/** Returns the call with this number. */
export const numbered = (n: number): Call => ({
  id: newCallId(),
  kind: 'tool',
  name: 'counter.write',
  input: { n },
  meta: {},
  caller: owner,
  options: {},
  signal: new AbortController().signal,
});

/** Opens Heddle on the home of the test, with SQLite there unless `store` is set. Every call of the server needs an approval. */
export const openCounting = (folder: string, store?: string): Promise<Heddle> =>
  openHeddle({
    cwd: folder,
    env: { PATH: process.env.PATH, HEDDLE_HOME: `${folder}/home` },
    config: {
      ...(store !== undefined && { store }),
      permissions: { ask: ['mcp__counter'] },
      mcpServers: {
        counter: {
          command: process.execPath,
          args: [`${import.meta.dirname}/argument-counter.mjs`],
          env: { COUNTS: `${folder}/counts` },
        },
      },
    },
  });

const step = (name: string) => process.stdout.write(`${name}\n`);

/** Takes one call as far as its number says: pending, approved, rejected, or used. */
async function pursue(heddle: Heddle, n: number): Promise<void> {
  const result = await heddle.dispatch(numbered(n));
  step(result.kind);
  if (result.kind !== 'waiting' || (n % 5 < 2 && n % 25 !== 1)) return;
  // Two are rejected: a third rejection would refuse the tool for 10 minutes.
  const verdict = n % 25 === 1 ? ({ verdict: 'reject', note: 'no' } as const) : ({ verdict: 'approve' } as const);
  await heddle.approvals.decide(owner, result.approval.id, verdict);
  step(verdict.verdict);
  if (n % 5 < 3) return;
  const used = await heddle.dispatch({ ...numbered(n), continuation: result.continuation });
  step(used.kind);
}

const [, program, folder, store] = process.argv;
if (program === import.meta.filename && folder !== undefined) {
  const heddle = await openCounting(folder, store);
  await Promise.all(Array.from({ length: CALLS }, (_, n) => pursue(heddle, n)));
  step('all');
  await heddle.close();
}
