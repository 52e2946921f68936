import { expect } from 'vitest';
import type { ClientCapabilities, JsonObject, Result } from '../../src/core/call.ts';
import { openServerRequests } from '../../src/upstream/elicitation/server-requests.ts';
import { suspendedCalls } from '../../src/upstream/elicitation/suspended-calls.ts';
import { tinyServer, toolCall } from '../../src/upstream/fixtures.ts';
import { resumeSuspended } from '../../src/upstream/protocol/resume-suspended.ts';
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

/** A connection without request attribution and two calls. The older call ends without an input request. */
async function twoCalls() {
  const ended = Promise.withResolvers<void>();
  const tiny = tinyServer({
    'tools/call': ({ name }) =>
      name === 'quick'
        ? ended.promise.then(() => ({ said: 'done' }))
        : (tiny.transports[0] as Peer).request('elicitation/create', FORM, { deadlineMs: 600_000 }),
  });
  const suspended = suspendedCalls();
  const sampling = () => ({ maxCalls: 0, windowMs: 1, maxTokens: 1 });
  const connection = await connectInMemory(tiny.serve)({
    serverRequests: openServerRequests({ suspendedCalls: suspended, roots: () => [], sampling }),
    server: 'demo',
    signal: new AbortController().signal,
    known: 'legacy',
    capabilities,
    onNotification() {},
  });
  const [quick, slow] = ['quick', 'slow'].map((name) => connection.send(toolCall(name, {}, { capabilities })));
  const resume = (name: string, required: Result | undefined, response: JsonObject) => {
    if (required?.kind !== 'input-required') throw new Error(`${name} required no input.`);
    return resumeSuspended(
      suspended,
      toolCall(name, {}, { capabilities, continuation: required.continuation, inputResponses: { q1: response } }),
    );
  };
  return { connection, quick, slow, end: ended.resolve, resume };
}

verifies('T10', 'moves an input request that was attributed to an ended call to the other call', async () => {
  const { connection, quick, slow, end, resume } = await twoCalls();
  const mistaken = await quick;
  expect(mistaken).toMatchObject({ inputRequests: { q1: { params: FORM } } });
  end();
  const required = await slow;
  expect(required).toMatchObject({ inputRequests: { q1: { params: FORM } } });
  expect(await resume('quick', mistaken, yes(7))).toMatchObject({ value: { said: 'done' } });
  expect(await resume('slow', required, yes(1))).toMatchObject({ value: yes(1) });
  expect(connection.inFlight()).toBe(0);
});
