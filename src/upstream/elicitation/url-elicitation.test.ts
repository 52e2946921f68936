import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import { SIGN_IN_ELICITATION } from '../../core/records/sign-in.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import type { Peer } from '../../wire/peer.ts';
import { tinyServer, toolCall } from '../fixtures.ts';
import { connectInMemory } from '../transports/connect-in-memory.ts';

const capabilities: ClientCapabilities = { form: true, url: true, sampling: false, samplingTools: false, roots: false };
const page = (elicitationId: string) => ({
  mode: 'url',
  elicitationId,
  url: 'https://example.com/',
  message: 'Sign in.',
});

verifies('P3', 'reports the completion of an elicitation once, to the call that got its URL', async () => {
  const server = () => tiny.transports[0] as Peer;
  const tiny = tinyServer({
    async 'tools/call'({ name }) {
      if (name === 'refuse') throw new RpcError(-32042, 'Visit first.', { elicitations: [page('refused')] });
      return server().request('elicitation/create', page('asked'), { deadlineMs: 60_000 });
    },
  });
  const { signal } = new AbortController();
  const connection = await connectInMemory(tiny.serve)({
    server: 'demo',
    signal,
    known: 'legacy',
    capabilities,
    onNotification: () => {},
  });
  const completed: unknown[] = [];
  const onElicitationComplete = (params: JsonObject) => void completed.push(params);
  for (const name of ['refuse', 'ask']) {
    expect(await connection.send(toolCall(name, {}, { capabilities, onElicitationComplete }))).toMatchObject({
      kind: 'input-required',
    });
  }
  for (const elicitationId of ['never given', 'asked', 'refused', 'asked', 7]) {
    await server().notify('notifications/elicitation/complete', { elicitationId });
  }
  // Messages arrive in order: after the response all notifications have arrived.
  await connection.probe(signal).catch(() => {});
  expect(completed).toEqual([{ elicitationId: 'asked' }, { elicitationId: 'refused' }]);
});

verifies('A6', 'ignores an elicitation with an id that is reserved for the sign-ins of the gateway', async () => {
  const tiny = tinyServer({
    async 'tools/call'() {
      throw new RpcError(-32042, 'Visit first.', { elicitations: [page(`${SIGN_IN_ELICITATION}one`)] });
    },
  });
  const { signal } = new AbortController();
  const connect = connectInMemory(tiny.serve);
  const connection = await connect({ server: 'demo', signal, known: 'legacy', capabilities, onNotification: () => {} });
  const refused = connection.send(toolCall('refuse', {}, { capabilities }));
  await expect(refused).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
});
