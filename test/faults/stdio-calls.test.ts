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

interface FaultyServers {
  readonly heddle: HeddleClient;
  /** Returns how often a server was started. */
  starts(name?: string): number;
  callTool(server: string, tool: string, message?: string): Promise<string>;
  /** Returns true while any of its processes runs. */
  runs(name: string): boolean;
}

/** Opens a Heddle with real child processes. `ways` maps each server name to its faults. */
async function openServers(
  ways: Readonly<Record<string, readonly string[]>>,
  more: object = {},
): Promise<FaultyServers> {
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
    await until('no process is left', () => !Object.keys(ways).some(runs));
  });
  return {
    heddle,
    runs,
    starts: (name = 'a') => readFileSync(log(name), 'utf8').split('\n').length - 1,
    async callTool(server, tool, message = 'hello') {
      const { value } = await heddle.call(`${server}.${tool}`, { message });
      return text(value);
    },
  };
}

const stateOf = async ({ heddle }: FaultyServers, name = 'a') =>
  (await heddle.servers.list()).find((server) => server.name === name);

verifies('F1', 'fails only the calls to a killed server, within a second', async () => {
  const faulty = await openServers({ a: [], b: [] });
  await Promise.all([faulty.callTool('a', 'echo'), faulty.callTool('b', 'echo')]);
  const pending = expect(faulty.callTool('a', 'hang')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  const others = Promise.all(Array.from({ length: 50 }, (_, at) => faulty.callTool('b', 'echo', `${at}`)));
  await within(1000, async () => {
    await expect(faulty.callTool('a', 'die')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await pending;
  });
  expect(await others).toEqual(Array.from({ length: 50 }, (_, at) => `${at}`));
  expect(faulty.starts('b')).toBe(1);
});

verifies('T5', 'starts a killed server again after the reconnect delay', async () => {
  const faulty = await openServers({ a: [] }, { reconnect: { maxAttempts: 3, delayMs: 1 } });
  await faulty.callTool('a', 'echo');
  await faulty.callTool('a', 'die').catch(() => {});
  await until('it runs again', async () => (await stateOf(faulty))?.state === 'connected' && faulty.starts() === 2);
  expect(await faulty.callTool('a', 'echo')).toBe('hello');
});

verifies('F1', 'fails only the call during which the server exits', async () => {
  const faulty = await openServers({ a: ['exit-on=3'] }, { reconnect: { maxAttempts: 3, delayMs: 1 } });
  const outcomes = [];
  for (let call = 1; call <= 5; call++) {
    outcomes.push(await faulty.callTool('a', 'echo', `${call}`).catch(({ code, message }) => `${code}: ${message}`));
  }
  const unknown = expect.stringMatching(/^OUTCOME_UNKNOWN: a ended during the call: it exited with code 5\./);
  expect(outcomes).toEqual(['1', '2', unknown, '4', '5']);
  expect(faulty.starts()).toBe(2);
});

verifies('T5', 'gives up a flapping server after maxAttempts', async () => {
  const faulty = await openServers({ a: ['flaps'] }, { autoConnect: true, reconnect: { maxAttempts: 2, delayMs: 1 } });
  await until('it is given up', async () => (await stateOf(faulty))?.state === 'failed');
  expect(await stateOf(faulty)).toMatchObject({ reason: expect.stringMatching(/\w/) });
  expect(faulty.starts()).toBeLessThanOrEqual(4);
});

for (const method of ['initialize', 'tools/list']) {
  verifies(
    'F2',
    `cancels a call to a server that hangs in ${method} at once, and leaves no process after close`,
    async () => {
      const faulty = await openServers({ a: [`hang=${method}`], b: [] });
      const abort = new AbortController();
      const waiting = faulty.heddle.call('a.echo', { message: 'x' }, { signal: abort.signal });
      const cancelled = expect(waiting).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
      await until('it has started', () => faulty.runs('a'));
      expect(await faulty.callTool('b', 'echo')).toBe('hello'); // The hung server does not delay the other.
      abort.abort();
      await cancelled;
    },
  );
}

verifies('F2', 'times out a call that hangs, sends the cancellation, and serves the next call', async () => {
  const faulty = await openServers({ a: [] });
  await faulty.callTool('a', 'echo');
  await expect(faulty.heddle.call('a.hang', {}, { timeoutMs: 50 })).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: expect.stringContaining('within 50 ms'),
  });
  expect(await faulty.callTool('a', 'cancelled')).toMatch(/^\d+$/);
  expect(faulty.starts()).toBe(1);
});

for (const [fault, tool] of [
  ['sends a response twice', 'twice'],
  ['sends a response without a request', 'stranger'],
  ['prints garbage and half lines', 'garbage'],
  ['sends one byte at a time', 'drip'],
] as const) {
  verifies('F3', `gives every caller its own response when the server ${fault}`, async () => {
    const faulty = await openServers({ a: [] });
    await faulty.callTool('a', 'echo');
    const messages = Array.from({ length: 40 }, (_, at) => `${tool} ${at}`);
    // A response sent byte by byte would mix with others on stdout, so these calls run one after another.
    const answers: string[] = [];
    if (tool === 'drip')
      for (const message of messages.slice(0, 3)) answers.push(await faulty.callTool('a', tool, message));
    else {
      const all = messages.map((message, at) => faulty.callTool('a', at % 2 === 0 ? tool : 'echo', message));
      answers.push(...(await Promise.all(all)));
    }
    expect(answers).toEqual(messages.slice(0, answers.length));
    expect(faulty.starts()).toBe(1);
  });
}

it('parses a response that arrives in two halves, cut inside a UTF-8 character', async () => {
  const faulty = await openServers({ a: [] });
  expect(await faulty.callTool('a', 'halves')).toBe('hello ✓');
});

verifies('F3', 'drops a response that arrives after the cancellation', async () => {
  const faulty = await openServers({ a: [] });
  await faulty.callTool('a', 'echo');
  const late = faulty.heddle.call('a.late', { message: 'too late' }, { timeoutMs: 50 });
  await expect(late).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: expect.stringContaining('within 50 ms'),
  });
  const after = await Promise.all(Array.from({ length: 20 }, (_, at) => faulty.callTool('a', 'echo', `${at}`)));
  expect(after).toEqual(Array.from({ length: 20 }, (_, at) => `${at}`));
});

verifies('F3', 'fails a call whose response exceeds the message limit, and marks the server unhealthy', async () => {
  const faulty = await openServers({ a: [] });
  await faulty.callTool('a', 'echo');
  const big = faulty.heddle.call('a.big', { megabytes: 17 });
  await expect(big).rejects.toMatchObject({ message: expect.stringContaining('more than 16777216 bytes') });
  expect(await stateOf(faulty)).toMatchObject({ state: 'connected', health: 'unhealthy' });
  expect(await faulty.callTool('a', 'echo')).toBe('hello');
});
