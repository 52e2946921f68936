import { expect } from 'vitest';
import type { ClientCapabilities, JsonObject, Result } from '../../src/core/call.ts';
import { openServerRequests } from '../../src/upstream/elicitation/server-requests.ts';
import { suspendedCalls } from '../../src/upstream/elicitation/suspended-calls.ts';
import { tinyServer, toolCall } from '../../src/upstream/fixtures.ts';
import { resumeSuspended } from '../../src/upstream/protocol/call-legacy.ts';
import { connectInMemory } from '../../src/upstream/transports/connect-in-memory.ts';
import type { Peer } from '../../src/wire/peer.ts';
import { verifies } from '../requirements.ts';

const capabilities: ClientCapabilities = {
  form: true,
  url: false,
  sampling: false,
  samplingTools: false,
  roots: false,
};
const FORM = { message: 'Which?', requestedSchema: { type: 'object', properties: { n: { type: 'integer' } } } };
const yes = (n: number) => ({ action: 'accept', content: { n } });

/** A line on which nothing says to which call a question belongs; the older of two calls ends without any. */
async function twoCalls() {
  const ended = Promise.withResolvers<void>();
  const tiny = tinyServer({
    'tools/call': ({ name }) =>
      name === 'quick'
        ? ended.promise.then(() => ({ said: 'done' }))
        : (tiny.lines[0] as Peer).request('elicitation/create', FORM, { deadlineMs: 600_000 }),
  });
  const parked = suspendedCalls();
  const sampling = () => ({ maxCalls: 0, windowMs: 1, maxTokens: 1 });
  const connection = await connectInMemory(tiny.serve)({
    serverRequests: openServerRequests({ suspendedCalls: parked, roots: () => [], sampling }),
    server: 'demo',
    signal: new AbortController().signal,
    known: 'legacy',
    capabilities,
    onNotification() {},
  });
  const [quick, slow] = ['quick', 'slow'].map((name) => connection.send(toolCall(name, {}, { capabilities })));
  const goOn = (name: string, asked: Result | undefined, answer: JsonObject) => {
    if (asked?.kind !== 'input-required') throw new Error(`${name} did not ask.`);
    return resumeSuspended(
      parked,
      toolCall(name, {}, { capabilities, continuation: asked.continuation, inputResponses: { q1: answer } }),
    );
  };
  return { connection, quick, slow, end: ended.resolve, goOn };
}

verifies('T10', 'a question that was taken for that of a call which is answered is asked in the other', async () => {
  const { connection, quick, slow, end, goOn } = await twoCalls();
  const mistaken = await quick;
  expect(mistaken).toMatchObject({ questions: { q1: { params: FORM } } });
  end();
  const asked = await slow;
  expect(asked).toMatchObject({ questions: { q1: { params: FORM } } });
  expect(await goOn('quick', mistaken, yes(7))).toMatchObject({ value: { said: 'done' } });
  expect(await goOn('slow', asked, yes(1))).toMatchObject({ value: yes(1) });
  expect(connection.inFlight()).toBe(0);
});
