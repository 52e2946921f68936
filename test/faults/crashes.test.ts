import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type HeddleClient, HeddleError } from '../../src/index.ts';
import { carriersOf, killAll } from '../alive.ts';
import { verifies } from '../requirements.ts';
import { faultyHttp } from '../servers/faulty-http.ts';
import { temporaryFolder, temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const SERVER = join(import.meta.dirname, '../servers/faulty-stdio.mjs');
const IN_FLIGHT = 50;

interface Crashing {
  readonly heddle: HeddleClient;
  /** Kills all processes of one server with SIGKILL. */
  kill(server: string): void;
}

/** Opens a Heddle with real child processes, all in one pool. */
async function opened(names: readonly string[], more: object = {}): Promise<Crashing> {
  const folder = await temporaryFolder();
  const markOf = (name: string) => `${folder}/${name}`;
  const entry = (name: string) => ({
    command: process.execPath,
    args: [SERVER],
    env: { CRASH_MARK: markOf(name) },
    pool: 'pool',
    ...more,
  });
  const servers = Object.fromEntries(names.map((name) => [name, entry(name)]));
  const heddle = await temporaryHeddleClient({ folder, servers });
  const processesOf = (name: string) => carriersOf(`CRASH_MARK=${markOf(name)}`);
  onTestFinished(async () => {
    await heddle.close();
    await until('no process is left', () => names.every((name) => processesOf(name).length === 0));
  });
  return { heddle, kill: (server) => killAll(processesOf(server)) };
}

const textOf = ({ value }: { value: object }) => (value as { content: { text: string }[] }).content[0]?.text;
const codeOf = (thrown: unknown) => HeddleError.from(thrown).code;

verifies('R4', 'counts a crash with 50 calls in flight as one failure: the next call succeeds', async () => {
  const { heddle, kill } = await opened(['a']);
  await heddle.call('a.echo', { message: 'up' });
  const lost = Array.from({ length: IN_FLIGHT }, () => heddle.call('a.hold', {}).catch(codeOf));
  await heddle.call('a.echo', { message: 'read after the others' });
  kill('a');
  expect(await Promise.all(lost)).toEqual(Array(IN_FLIGHT).fill('OUTCOME_UNKNOWN'));
  expect(textOf(await heddle.call('a.hold', { message: 'back' }))).toBe('back');
});

const STREAM = { 'content-type': 'text/event-stream' };
const BROKEN_STREAMS: readonly [string, (response: ServerResponse) => void][] = [
  ['destroyed after the headers of an event stream', (response) => response.destroy()],
  ['ended as event streams without a response', (response) => response.end()],
];

for (const [how, breakStream] of BROKEN_STREAMS) {
  verifies('R4', `counts 50 calls over HTTP whose responses are ${how} as one failure`, async () => {
    const server = await faultyHttp();
    onTestFinished(() => server.close());
    const heddle = await temporaryHeddleClient({ servers: { a: { url: server.url } } });
    await heddle.call('a.write', {});
    const open: ServerResponse[] = [];
    for (let call = 0; call < IN_FLIGHT; call++) {
      server.faults.push((response) => void open.push(response.writeHead(200, STREAM)));
    }
    const lost = Array.from({ length: IN_FLIGHT }, () => heddle.call('a.write', {}).catch(codeOf));
    await until('all calls are in flight', () => open.length === IN_FLIGHT);
    for (const response of open) response.write(': open\n\n', () => breakStream(response));
    expect(await Promise.all(lost)).toEqual(Array(IN_FLIGHT).fill('OUTCOME_UNKNOWN'));
    expect(textOf(await heddle.call('a.write', {}))).toBe('done');
  });
}

verifies('R4', 'sends the next call on a new connection, although five crashes opened the breaker', async () => {
  const { heddle, kill } = await opened(['a'], { reconnect: { maxAttempts: 20, delayMs: 1 } });
  for (let crash = 0; crash < 7; crash++) {
    await heddle.call('a.echo', { message: 'connects it' });
    const lost = heddle.call('a.hold', {}).catch(codeOf);
    await heddle.call('a.echo', { message: 'read after the other' });
    kill('a');
    expect(await lost).toBe('OUTCOME_UNKNOWN');
  }
  await heddle.call('a.echo', { message: 'connects it' });
  expect(textOf(await heddle.call('a.hold', { message: 'back' }))).toBe('back');
});

verifies('R4', 'refuses no call unsent in a pool of two under load with 13 crashes', async () => {
  const { heddle, kill } = await opened(['a', 'b'], { reconnect: { maxAttempts: 20, delayMs: 1 } });
  await heddle.tools();
  const failures: string[] = [];
  let [answers, crashes] = [0, 0];
  async function callUntilDone(): Promise<void> {
    while (answers < 13 * 100 && failures.length < 5000) {
      const end = await heddle.call('mcp__pool__hold', { message: 'x' }).catch(codeOf);
      if (typeof end === 'string') failures.push(end);
      // The server that answers is the one that has the other calls in flight.
      else if (++answers % 100 === 0 && ++crashes <= 13) kill(end.server);
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, callUntilDone));
  expect(crashes).toBeGreaterThanOrEqual(13);
  expect(new Set(failures)).toEqual(new Set(['OUTCOME_UNKNOWN']));
});
