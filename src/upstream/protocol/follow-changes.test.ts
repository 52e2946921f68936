import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import {
  anySignal,
  openListeningConnection,
  settled,
  TAG,
  TOOLS,
  UPDATED,
} from '../../../test/servers/listening-connection.ts';
import { RpcError } from '../../wire/json-rpc.ts';

verifies('T8', 'listens for the declared changes of a modern server, and removes the subscription id', async () => {
  const { listens, received, notify } = await openListeningConnection({
    capabilities: { tools: { listChanged: true }, prompts: {} },
  });
  expect(listens.map(({ filter }) => filter)).toEqual([{ toolsListChanged: true }]);
  expect(received).toEqual([]);
  await notify(TOOLS, {});
  await notify(TOOLS, { _meta: { vendor: 1 }, x: 2 });
  expect(received).toEqual([
    [TOOLS, {}],
    [TOOLS, { x: 2, _meta: { vendor: 1 } }],
  ]);
});

verifies('T8', 'does not listen to a server that declares no changes, in either era', async () => {
  for (const era of ['legacy', 'modern'] as const) {
    const { requests, changes } = await openListeningConnection({ era, capabilities: { tools: {}, resources: {} } });
    expect(requests).toEqual([]);
    const refused = { code: 'UPSTREAM_REFUSED', message: expect.stringContaining('does not offer') };
    await expect(changes.subscribe('a', anySignal)).rejects.toMatchObject(refused);
    expect(requests).toEqual([]);
  }
});

verifies('T8', 'passes on the changes of a legacy server, and subscribes to each resource', async () => {
  const { changes, requests, received, server } = await openListeningConnection({ era: 'legacy' });
  await server.notify(TOOLS);
  await changes.subscribe('file:///a', anySignal);
  await server.notify(UPDATED, { uri: 'file:///a' });
  await changes.unsubscribe('file:///a', anySignal);
  await settled();
  expect(requests).toEqual(['resources/subscribe file:///a', 'resources/unsubscribe file:///a']);
  expect(received).toEqual([
    [TOOLS, {}],
    [UPDATED, { uri: 'file:///a' }],
  ]);
});

it('passes on the error message of a legacy server', async () => {
  const { changes } = await openListeningConnection({
    era: 'legacy',
    refusal: new RpcError(-32002, 'No such resource'),
  });
  const refused = { code: 'UPSTREAM_REFUSED', message: 'No such resource' };
  await expect(changes.subscribe('a', anySignal)).rejects.toMatchObject(refused);
});

verifies('T9', 'passes on other notifications of a modern server unchanged', async () => {
  const { received, server } = await openListeningConnection();
  await server.notify('selection_changed', { line: 3, _meta: { vendor: true } });
  await settled();
  expect(received).toEqual([['selection_changed', { line: 3, _meta: { vendor: true } }]]);
});

verifies('T8', 'passes on many changes at once without queueing them', async () => {
  const { server, received, listens, peer } = await openListeningConnection();
  const _meta = { [TAG]: listens[0]?.id };
  for (let at = 0; at < 10_000; at++) void server.notify(TOOLS, { _meta });
  await settled();
  expect(received).toHaveLength(10_000);
  expect(listens).toHaveLength(1);
  expect(peer.dropped).toEqual({ malformed: 0, unknown: 0, stale: 0 });
});
