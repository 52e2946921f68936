import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type HeddleClient, text } from '../../src/index.ts';
import { carriersOf } from '../alive.ts';
import { within } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder, temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const SERVER = join(import.meta.dirname, '../servers/faulty-stdio.mjs');

interface Place {
  readonly heddle: HeddleClient;
  /** How often a server was started. */
  starts(name?: string): number;
  say(server: string, tool: string, message?: string): Promise<string>;
  /** Returns true while any of its processes runs. */
  runs(name: string): boolean;
}

/** A Heddle with real children: name → in what way each is broken. */
async function place(ways: Readonly<Record<string, readonly string[]>>, more: object = {}): Promise<Place> {
  const folder = await temporaryFolder();
  const log = (name: string) => join(folder, `${name}.log`);
  const servers = Object.fromEntries(
    Object.entries(ways).map(([name, args]) => [
      name,
      { command: process.execPath, args: [SERVER, ...args], env: { START_LOG: log(name) }, ...more },
    ]),
  );
  const heddle = await temporaryHeddleClient({ folder, servers });
  const runs = (name: string) => carriersOf(`START_LOG=${log(name)}`).length > 0;
  onTestFinished(async () => {
    await heddle.close();
    await until('nothing is left', () => !Object.keys(ways).some(runs));
  });
  return {
    heddle,
    runs,
    starts: (name = 'a') => readFileSync(log(name), 'utf8').split('\n').length - 1,
    async say(server, tool, message = 'hello') {
      const { value } = await heddle.call(`${server}.${tool}`, { message });
      return text(value);
    },
  };
}

const stateOf = async ({ heddle }: Place, name = 'a') =>
  (await heddle.servers.list()).find((server) => server.name === name);

verifies('F1', 'killed in the middle of a call: that call fails within a second, and nothing else does', async () => {
  const here = await place({ a: [], b: [] });
  await Promise.all([here.say('a', 'echo'), here.say('b', 'echo')]);
  const pending = expect(here.say('a', 'hang')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  const others = Promise.all(Array.from({ length: 50 }, (_, at) => here.say('b', 'echo', `${at}`)));
  await within(1000, async () => {
    await expect(here.say('a', 'die')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await pending;
  });
  expect(await others).toEqual(Array.from({ length: 50 }, (_, at) => `${at}`));
  expect(here.starts('b')).toBe(1);
});

verifies('T5', 'killed: it is started again by itself after its delay', async () => {
  const here = await place({ a: [] }, { reconnect: { maxAttempts: 3, delayMs: 1 } });
  await here.say('a', 'echo');
  await here.say('a', 'die').catch(() => {});
  await until('it runs again', async () => (await stateOf(here))?.state === 'connected' && here.starts() === 2);
  expect(await here.say('a', 'echo')).toBe('hello');
});

verifies('F1', 'exits on the third call: that one fails, the others do not', async () => {
  const here = await place({ a: ['exit-on=3'] }, { reconnect: { maxAttempts: 3, delayMs: 1 } });
  const outcomes = [];
  for (let call = 1; call <= 5; call++) {
    outcomes.push(await here.say('a', 'echo', `${call}`).catch(({ code, message }) => `${code}: ${message}`));
  }
  const unknown = expect.stringMatching(/^OUTCOME_UNKNOWN: a ended during the call: it exited with code 5\./);
  expect(outcomes).toEqual(['1', '2', unknown, '4', '5']);
  expect(here.starts()).toBe(2);
});

verifies('T5', 'flaps: it is given up after a few attempts instead of being started for ever', async () => {
  const here = await place({ a: ['flaps'] }, { autoConnect: true, reconnect: { maxAttempts: 2, delayMs: 1 } });
  await until('it is given up', async () => (await stateOf(here))?.state === 'failed');
  expect(await stateOf(here)).toMatchObject({ reason: expect.stringMatching(/\w/) });
  expect(here.starts()).toBeLessThanOrEqual(4);
});

for (const method of ['initialize', 'tools/list']) {
  verifies('F2', `hangs in ${method}: a cancelled caller returns at once, and closing leaves no process`, async () => {
    const here = await place({ a: [`hang=${method}`], b: [] });
    const abort = new AbortController();
    const waiting = here.heddle.call('a.echo', { message: 'x' }, { signal: abort.signal });
    const given = expect(waiting).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    await until('it has started', () => here.runs('a'));
    expect(await here.say('b', 'echo')).toBe('hello'); // Not held up by it.
    abort.abort();
    await given;
  });
}

verifies('F2', 'hangs in a call: it is timed out, cancelled at the server, and the next call works', async () => {
  const here = await place({ a: [] });
  await here.say('a', 'echo');
  await expect(here.heddle.call('a.hang', {}, { timeoutMs: 50 })).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: expect.stringContaining('within 50 ms'),
  });
  expect(await here.say('a', 'cancelled')).toMatch(/^\d+$/);
  expect(here.starts()).toBe(1);
});

for (const [fault, tool] of [
  ['answers twice', 'twice'],
  ['sends a response without a request', 'stranger'],
  ['prints garbage and half lines', 'garbage'],
  ['drips one byte at a time', 'drip'],
] as const) {
  verifies('F3', `${fault}: every caller gets the answer that is theirs`, async () => {
    const here = await place({ a: [] });
    await here.say('a', 'echo');
    const asked = Array.from({ length: 40 }, (_, at) => `${tool} ${at}`);
    // A line that drips cannot be answered into: those are asked one after the other.
    const answers: string[] = [];
    if (tool === 'drip') for (const message of asked.slice(0, 3)) answers.push(await here.say('a', tool, message));
    else {
      const all = asked.map((message, at) => here.say('a', at % 2 === 0 ? tool : 'echo', message));
      answers.push(...(await Promise.all(all)));
    }
    expect(answers).toEqual(asked.slice(0, answers.length));
    expect(here.starts()).toBe(1);
  });
}

it('understands an answer that comes in two halves, cut in the middle of a letter', async () => {
  const here = await place({ a: [] });
  expect(await here.say('a', 'halves')).toBe('hello ✓');
});

verifies('F3', 'drops a response that arrives after the cancellation', async () => {
  const here = await place({ a: [] });
  await here.say('a', 'echo');
  const late = here.heddle.call('a.late', { message: 'too late' }, { timeoutMs: 50 });
  await expect(late).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: expect.stringContaining('within 50 ms'),
  });
  const after = await Promise.all(Array.from({ length: 20 }, (_, at) => here.say('a', 'echo', `${at}`)));
  expect(after).toEqual(Array.from({ length: 20 }, (_, at) => `${at}`));
});

verifies(
  'F3',
  'sends more than the limit in one message: the call fails, and the server counts as unhealthy',
  async () => {
    const here = await place({ a: [] });
    await here.say('a', 'echo');
    const big = here.heddle.call('a.big', { megabytes: 17 });
    await expect(big).rejects.toMatchObject({ message: expect.stringContaining('more than 16777216 bytes') });
    expect(await stateOf(here)).toMatchObject({ state: 'connected', health: 'unhealthy' });
    expect(await here.say('a', 'echo')).toBe('hello');
  },
);
