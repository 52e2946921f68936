import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { temporaryHeddleClient } from '../../test/temporary-heddle.ts';
import { HeddleError } from '../index.ts';

const failureOf = (call: Promise<unknown>): Promise<HeddleError> =>
  call.then(
    () => Promise.reject(new Error('The call succeeded.')),
    (thrown) => thrown,
  );

async function opened(reached = () => {}) {
  const demo = recordingServer({
    say: () => text('hello'),
    hang: () => {
      reached();
      return new Promise<never>(() => {});
    },
  });
  const servers = { demo, gone: { command: '/nowhere/at-all' }, odd: { transport: () => Promise.reject(1) } };
  return temporaryHeddleClient({ servers });
}

verifies('X1', 'an error of a call that tried a server has the server and the latency in its details', async () => {
  let reached = () => {};
  const heddle = await opened(() => reached());
  const cancelled = new AbortController();
  const calls = {
    'a call that is too late': () => heddle.call('demo.hang', {}, { timeoutMs: 20 }),
    'a cancelled call': () => {
      reached = () => cancelled.abort();
      return heddle.call('demo.hang', {}, { signal: cancelled.signal });
    },
    'a command that does not exist': () => heddle.call('gone.x'),
    'a transport that fails': () => heddle.call('odd.x'),
    'a prompt': () => heddle.getPrompt('gone.x'),
  };
  for (const [name, call] of Object.entries(calls)) {
    const { code, details } = await failureOf(call());
    expect.soft([code, details.server], name).toEqual([expect.any(String), expect.stringMatching(/^(demo|gone|odd)$/)]);
    expect.soft(details.latencyMs, name).toEqual(expect.any(Number));
  }
});

verifies('X1', 'an error keeps its class, code, fix and other details', async () => {
  const failure = await failureOf((await opened()).call('gone.x'));
  expect(HeddleError.is(failure)).toBe(true);
  expect(failure).toMatchObject({ name: 'HeddleError', code: 'UPSTREAM_UNREACHABLE', delivered: 'no' });
  expect(failure.fix).not.toBe('');
});

verifies('X1', 'an error of a call that tried no server has neither', async () => {
  const heddle = await opened();
  const calls = [
    () => heddle.call('nothing.here'),
    () => heddle.call('demo.nothing'),
    () => heddle.call('demo.say', { a: 1n } as never),
  ];
  for (const call of calls) {
    const { details } = await failureOf(call());
    expect([details.server, details.latencyMs]).toEqual([undefined, undefined]);
  }
});
