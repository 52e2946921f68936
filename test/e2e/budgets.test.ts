import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Change } from '../../src/core/records/server-status.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';

const notesAt = (calls: string) => ({
  command: process.execPath,
  args: [join(SERVERS, 'noting-server.mjs'), calls],
  tools: { write: { costPerCall: 2 } },
});

verifies('G5', 'limits the cost of calls across processes, and shows spent and left', async () => {
  const { folder, heddle } = project({ calls: '', 'heddle.json': {} });
  const calls = join(folder, 'calls');
  const config = { mcpServers: { notes: notesAt(calls) }, budgets: { perCaller: { month: 5 } } };
  writeFileSync(join(folder, 'heddle.json'), JSON.stringify(config));
  const write = ['call', 'notes.write', 'text=hi', 'path=a'];
  expect(await heddle(['stats', '--budgets'])).toMatchObject({ code: 0, stdout: '' });
  for (const spawned of [true, false]) expect(await heddle(write, { spawned })).toMatchObject({ code: 0 });
  const refused = await heddle(write);
  expect(refused).toMatchObject({ code: 5, stdout: '' });
  expect(refused.stderr).toMatch(
    /BUDGET_EXCEEDED.*for this month does not cover the call: it costs 2, and 4 of 5 units/,
  );
  expect(refused.stderr).toMatch(/Call again after \d{4}-\d\d-\d\dT00:00:00\.000Z/);
  expect(readFileSync(calls, 'utf8').trim().split('\n')).toHaveLength(2);
  const { stdout } = await heddle(['stats', '--budgets']);
  expect(stdout.split('\n').map((line) => line.split(/ +/).slice(0, 5))).toEqual([
    ['CALLER', 'PER', 'SPENT', 'LEFT', 'BUDGET'],
    ['owner', 'month', '4', '1', '5'],
    [''],
  ]);
  const { budgets } = JSON.parse((await heddle(['stats', '--budgets', '--json'])).stdout);
  expect(budgets[0]).toEqual({
    ...{ caller: 'owner', period: 'month', spent: 4, limit: 5, left: 1 },
    resetsAt: expect.any(Number),
  });
  expect(await heddle(['stats', '--budgets', '--since', '7d'])).toMatchObject({ code: 2 });
});

verifies('G5', 'publishes a change when a caller reaches warnAt, to administrators and that caller alone', async () => {
  const folder = await temporaryFolder();
  const calls = join(folder, 'calls');
  const budgets = { callers: { 'key:ci': { month: 10 } }, warnAt: 0.4 };
  const heddle = await temporaryHeddle({ folder, config: { mcpServers: { notes: notesAt(calls) }, budgets } });
  const caller = { id: 'key:ci', roles: ['user'], via: 'gateway' } as const;
  const ended = new AbortController();
  const readBy = (id: string, role: 'user' | 'operator') => {
    const read: Change[] = [];
    const changes = heddle.changes({ id, roles: [role], via: 'gateway' }, ended.signal);
    const reading = (async () => {
      for await (const change of changes) if (change.kind === 'budget') read.push(change);
    })();
    return { read, reading };
  };
  const readers = [readBy('key:ci', 'user'), readBy('key:ops', 'operator'), readBy('key:other', 'user')];
  for (let call = 0; call < 3; call++) {
    await heddle.dispatch({
      id: `call-${call}`,
      kind: 'tool',
      name: 'notes.write',
      input: { text: 'hi', path: 'a' },
      meta: {},
      caller,
      options: {},
      signal: ended.signal,
    });
  }
  await until('both readers have the change', () => readers.slice(0, 2).every(({ read }) => read.length > 0));
  const [change] = readers.flatMap(({ read }) => read);
  expect(change?.detail).toMatchObject({ caller: 'key:ci', period: 'month', spent: 4, limit: 10, left: 6 });
  expect(readers.map(({ read }) => read.length)).toEqual([1, 1, 0]);
  ended.abort();
  await Promise.allSettled(readers.map(({ reading }) => reading));
});
