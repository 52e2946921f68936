import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished } from 'vitest';
import { HeddleError } from '../../src/core/errors.ts';
import type { Approval } from '../../src/core/records/approval.ts';
import type { Heddle } from '../../src/heddle.ts';
import { DIALECTS, testPostgres } from '../../src/store/fixtures.ts';
import { openStore } from '../../src/store/open-store.ts';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { CALLS, numbered, openCounting } from '../servers/approving-process.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const owner = { id: 'library', roles: ['owner'], via: 'library' } as const;
const PROGRAM = join(import.meta.dirname, '..', 'servers', 'approving-process.ts');
// Steps of 102: some while approvals are requested, some while they are decided, some while calls run.
const POINTS = [1, 12, 25, 40, 51, 58, 66, 75, 84, 93];
// In a short run: one of each part with SQLite, and with Postgres one while calls run.
const pointsOn = (dialect: string) => (MEASURES ? POINTS : dialect === 'sqlite' ? [25, 58, 84] : [75]);

/** Runs the program and kills it after it has printed this many steps. */
async function killAfter(steps: number, folder: string, location: string): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, folder, location], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let seen = 0;
  for await (const _ of createInterface({ input: child.stdout })) {
    seen++;
    if (seen === steps) child.kill('SIGKILL');
  }
  await exited;
}

/** Repeats every call, as clients do that come back. Returns how each ended. */
async function repeatAll(heddle: Heddle): Promise<readonly string[]> {
  const ends: string[] = [];
  for (let n = 0; n < CALLS; n++) {
    const end = await heddle.dispatch(numbered(n)).then(
      ({ kind }) => kind,
      (thrown) => HeddleError.from(thrown).code,
    );
    ends.push(end);
  }
  return ends;
}

/** Counts the writes of the server by call number. */
function writesIn(folder: string): ReadonlyMap<string, number> {
  const file = join(folder, 'counts');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return new Map([...Map.groupBy(lines, (line) => line)].map(([n, all]) => [n, all.length]));
}

const numberOf = ({ subject }: Approval) => String((subject.arguments as { n?: number }).n);

describe.each(DIALECTS)('on $dialect', ({ dialect, fresh }) => {
  describe.skipIf(dialect === 'postgres' && !testPostgres)('with approvals in all states', () => {
    for (const point of pointsOn(dialect)) {
      verifies('F8', `no approval is lost and no call runs twice if Heddle is killed after step ${point}`, async () => {
        const database = await fresh();
        onTestFinished(() => database.remove());
        await checkKill(point, database.location);
      });
    }
  });
});

/** Kills Heddle at a point, repeats all calls, and compares approvals, writes and audit records. */
async function checkKill(point: number, location: string): Promise<void> {
  const folder = await temporaryFolder();
  await killAfter(point, folder, location);
  const heddle = await openCounting(folder, location);
  const used = async () => heddle.approvals.list(owner, { status: 'used', limit: 1000 });
  try {
    const ends = await repeatAll(heddle);
    const known = ['waiting', 'complete', 'APPROVAL_REJECTED', 'OUTCOME_UNKNOWN', 'APPROVAL_SETTLED'];
    expect(ends.filter((end) => !known.includes(end))).toEqual([]);
    await until('every used approval has an end', async () =>
      (await used()).every(({ outcome }) => outcome !== undefined),
    );
    const sent = Map.groupBy(
      (await used()).filter(({ outcome }) => outcome !== 'not-sent'),
      numberOf,
    );
    for (const [n, writes] of writesIn(folder)) expect([n, writes]).toEqual([n, sent.get(n)?.length]);
    const complete = (await used()).filter(({ outcome }) => outcome === 'complete');
    for (const approval of complete) expect(writesIn(folder).get(numberOf(approval))).toBe(1);
  } finally {
    await heddle.close();
  }
  const store = await openStore({ location });
  expect((await store.audit.verify({ signal: new AbortController().signal })).faults).toEqual([]);
  await store.close();
}
