import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { anySignal, following, settled, TAG, TOOLS, UPDATED } from '../../../test/servers/listened-server.ts';
import { RpcError } from '../../wire/json-rpc.ts';

verifies('T8', 'listens for the declared changes of a modern server, and removes the subscription id', async () => {
  const { listens, heard, say } = await following({ capabilities: { tools: { listChanged: true }, prompts: {} } });
  expect(listens.map(({ filter }) => filter)).toEqual([{ toolsListChanged: true }]);
  expect(heard).toEqual([]);
  await say(TOOLS, {});
  await say(TOOLS, { _meta: { vendor: 1 }, x: 2 });
  expect(heard).toEqual([
    [TOOLS, {}],
    [TOOLS, { x: 2, _meta: { vendor: 1 } }],
  ]);
});

verifies('T8', 'does not listen to a server that declares no changes, in either era', async () => {
  for (const era of ['legacy', 'modern'] as const) {
    const { requests, changes } = await following({ era, capabilities: { tools: {}, resources: {} } });
    expect(requests).toEqual([]);
    const refused = { code: 'UPSTREAM_REFUSED', message: expect.stringContaining('does not offer') };
    await expect(changes.subscribe('a', anySignal)).rejects.toMatchObject(refused);
    expect(requests).toEqual([]);
  }
});

verifies('T8', 'passes on the changes of a legacy server, and subscribes to each resource', async () => {
  const { changes, requests, heard, server } = await following({ era: 'legacy' });
  await server.notify(TOOLS);
  await changes.subscribe('file:///a', anySignal);
  await server.notify(UPDATED, { uri: 'file:///a' });
  await changes.unsubscribe('file:///a', anySignal);
  await settled();
  expect(requests).toEqual(['resources/subscribe file:///a', 'resources/unsubscribe file:///a']);
  expect(heard).toEqual([
    [TOOLS, {}],
    [UPDATED, { uri: 'file:///a' }],
  ]);
});

it('passes on the error message of a legacy server', async () => {
  const { changes } = await following({ era: 'legacy', refusal: new RpcError(-32002, 'No such resource') });
  const refused = { code: 'UPSTREAM_REFUSED', message: 'No such resource' };
  await expect(changes.subscribe('a', anySignal)).rejects.toMatchObject(refused);
});

verifies('T9', 'passes on other notifications of a modern server unchanged', async () => {
  const { heard, server } = await following();
  await server.notify('selection_changed', { line: 3, _meta: { vendor: true } });
  await settled();
  expect(heard).toEqual([['selection_changed', { line: 3, _meta: { vendor: true } }]]);
});

verifies('T8', 'passes on many changes at once without queueing them', async () => {
  const { server, heard, listens, peer } = await following();
  const _meta = { [TAG]: listens[0]?.id };
  for (let at = 0; at < 10_000; at++) void server.notify(TOOLS, { _meta });
  await settled();
  expect(heard).toHaveLength(10_000);
  expect(listens).toHaveLength(1);
  expect(peer.dropped).toEqual({ malformed: 0, unknown: 0, stale: 0 });
});
