import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { localCaller } from '../../src/cli/local-caller.ts';
import type { Call } from '../../src/core/call.ts';
import { gatewayUnderTest, modern, OWNER, openSession } from '../../src/gateway/fixtures.ts';
import { serveStdio } from '../../src/gateway/transports/serve-stdio.ts';
import { PROGRAM } from '../../src/library/program.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';

const demo = () => recordingServer({ echo: () => text('hi') });
const CALL = { id: 7, method: 'tools/call', params: { name: 'mcp__demo__echo', arguments: {} } };

verifies('G3', 'calls of one HTTP session have its key, and those without a session have none', async () => {
  const seen: Call[] = [];
  const gateway = await gatewayUnderTest({ servers: { demo: demo() }, onCall: (call) => seen.push(call) });
  const [one, other] = [await openSession(gateway), await openSession(gateway)];
  for (const session of [one, one, other]) await gateway.post(CALL, session);
  await gateway.post(...modern('tools/call', CALL.params));
  const [first, second, third, stateless] = seen.map(({ caller }) => caller);
  expect(first?.session).toMatch(/^[\w-]{36}$/);
  expect(second).toBe(first); // Caches are keyed by the caller object.
  expect(third?.session).not.toBe(first?.session);
  expect([stateless?.session, stateless?.id]).toEqual([undefined, 'owner']);
  expect(Object.values(one)).not.toContain(first?.session); // The id of a session lets a client use it.
});

verifies('G3', 'calls of one connection have its key, in both eras', async () => {
  const seen: Call[] = [];
  const { heddle } = await gatewayUnderTest({ servers: { demo: demo() }, onCall: (call) => seen.push(call) });
  async function callOnce(params: object): Promise<void> {
    const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()];
    onTestFinished(() => stop.abort());
    const ended = serveStdio({ heddle, caller: OWNER, input, output }, stop.signal);
    for (const id of [1, 2]) {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', ...CALL, id, params })}\n`);
      await once(output, 'data');
    }
    stop.abort();
    await ended;
  }
  const [{ params }] = modern('tools/call', CALL.params);
  await callOnce(CALL.params);
  await callOnce(params as object);
  const [one, two, three, four] = seen.map(({ caller }) => caller.session);
  expect(one).toMatch(/^[\w-]{36}$/);
  expect([two === one, three === one, four === three]).toEqual([true, false, true]);
});

verifies('G3', 'calls of a program and of a command have the key of their process', () => {
  expect(PROGRAM.session).toMatch(/^[\w-]{36}$/);
  expect(localCaller().session).toBe(localCaller().session);
});
