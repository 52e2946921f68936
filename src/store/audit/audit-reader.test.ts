import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { freshSqlite, recordOf } from '../fixtures.ts';
import { openStore } from '../open-store.ts';

/** Returns the nice value of each thread of this process. */
const niceOfThreads = () =>
  readdirSync('/proc/self/task').map((thread) => {
    const text = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16]);
  });

verifies('G11', 'lowers the priority of the reader thread alone, on Linux', async () => {
  const { location, remove } = await freshSqlite();
  onTestFinished(remove);
  const store = await openStore({ location });
  await store.audit.appendDurably(recordOf());
  const before = getPriority();
  let during: readonly number[] = [];
  for await (const _ of store.audit.read({}, { signal: new AbortController().signal })) {
    if (process.platform === 'linux') during = niceOfThreads();
  }
  await store.close();
  expect(getPriority()).toBe(before);
  if (process.platform === 'linux' && before < 19) expect(during.filter((nice) => nice !== before)).toEqual([19]);
});
