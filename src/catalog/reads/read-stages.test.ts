import { expect } from 'vitest';
import { within } from '../../../test/limits.ts';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { compose, type JsonObject, type Result, type Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { aCall, aTarget } from '../../core/fixtures.ts';
import { notifications } from '../../upstream/lifecycle/notifications.ts';
import type { Servers } from '../../upstream/servers.ts';
import { liveCatalog } from '../live-catalog.ts';
import { readStages } from './read-stages.ts';

const UPDATED = 'notifications/resources/updated';

function setting({ refuses = false } = {}) {
  const bus = notifications();
  const connection = {};
  const requests: string[] = [];
  let hidden: (target: Target) => boolean = () => false;
  const servers = {
    cacheable: () => connection,
    hasUserCredentials: () => false,
    privateUserFor: async () => undefined,
    subscribe: async (_server: string, { uri }: { uri: string }) => {
      requests.push(`subscribe ${uri}`);
      if (refuses) throw new HeddleError('UPSTREAM_REFUSED', 'no');
    },
    unsubscribe: async (_server: string, { uri }: { uri: string }) => void requests.push(`unsubscribe ${uri}`),
  } as unknown as Servers;
  const invoke = async (): Promise<Result> => {
    requests.push('read');
    const value = { contents: [], ttlMs: 60_000 };
    return { kind: 'complete', value, isError: false, provenance: { server: 'demo', attempts: 1, latencyMs: 1 } };
  };
  const catalog = liveCatalog({ owners: new Map(), remembered: [], onChange: () => {} });
  const reads = readStages({ catalog, servers, notifications: bus, visible: (_caller, target) => !hidden(target) });
  const handle = compose([reads.cache, reads.coalesce, reads.followUpdates], invoke);
  const of = (kind: 'resource' | 'subscription', more: object = {}) =>
    handle(
      aCall({
        kind,
        name: 'u:1',
        target: aTarget({ kind: 'resource', name: 'u:1', facts: { readOnly: true } }),
        ...more,
      }),
    );
  return {
    requests,
    of,
    update: (uri: string, server = 'demo') => bus.publish(server, UPDATED, { uri }),
    hide: (which: (target: Target) => boolean = () => true) => (hidden = which),
  };
}

verifies('R7', 'drops a cached read when the server reports an update of the resource', async () => {
  const { requests, of, update } = setting();
  await of('resource');
  update('u:2');
  update('u:1', 'other');
  await of('resource');
  expect(requests).toEqual(['read']);
  update('u:1');
  await of('resource');
  expect(requests).toEqual(['read', 'read']);
});

verifies('R7', 'does not coalesce a read from before an update with one after it', async () => {
  const { requests, of, update } = setting();
  const before = of('resource');
  update('u:1');
  await Promise.all([before, of('resource')]);
  expect(requests).toEqual(['read', 'read']);
});

verifies('R6', 'sends no updates of a resource that the caller may no longer see', async () => {
  const { of, update, hide } = setting();
  const updates: JsonObject[] = [];
  await of('subscription', { onProgress: (update: JsonObject) => updates.push(update) });
  update('u:1');
  hide();
  update('u:1');
  expect(updates).toEqual([{ uri: 'u:1' }]);
});

verifies('R6', 'sends an update to all subscribers even if one of them throws', async () => {
  const { of, update } = setting();
  const updates: JsonObject[] = [];
  const breaks = () => {
    throw new Error('broken');
  };
  await of('subscription', { onProgress: breaks });
  await of('subscription', { onProgress: (update: JsonObject) => updates.push(update) });
  update('u:1');
  expect(updates).toHaveLength(1);
});

verifies('R6', 'sends no updates for a refused or a cancelled subscription', async () => {
  const refused = setting({ refuses: true });
  const updates: JsonObject[] = [];
  const onProgress = (update: JsonObject) => updates.push(update);
  await expect(refused.of('subscription', { onProgress })).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
  refused.update('u:1');
  expect(updates).toEqual([]);

  const { requests, of, update } = setting();
  const early = new AbortController();
  const begun = of('subscription', { onProgress, signal: early.signal });
  early.abort();
  await expect(begun).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  const late = new AbortController();
  await of('subscription', { onProgress, signal: late.signal });
  late.abort();
  await until(
    'the server gets two unsubscribe requests',
    () => requests.filter((one) => one.startsWith('unsubscribe')).length === 2,
  );
  update('u:1');
  expect(updates).toEqual([]);
});

const folder = (name: string) => ({
  name,
  target: aTarget({ kind: 'resource', publicName: name, name, facts: { readOnly: true } }),
});

verifies('R6', 'sends updates of resources below a subscribed folder, and not of its siblings', async () => {
  const { of, update } = setting();
  const updates: JsonObject[] = [];
  for (const name of ['file:///a', 'file:///a/']) {
    await of('subscription', {
      ...folder(name),
      onProgress: (update: JsonObject) => updates.push({ name, ...update }),
    });
  }
  for (const uri of ['file:///ab', 'file:///', 'file:///a/b/c']) update(uri);
  update('file:///a/b', 'other');
  expect(updates).toEqual([
    { name: 'file:///a', uri: 'file:///a/b/c' },
    { name: 'file:///a/', uri: 'file:///a/b/c' },
  ]);
});

verifies('R6', 'does not send the URI of a hidden resource to the subscriber of its folder', async () => {
  const { of, update, hide } = setting();
  const updates: JsonObject[] = [];
  await of('subscription', { ...folder('file:///a'), onProgress: (update: JsonObject) => updates.push(update) });
  const own = folder('heddle://demo/file:///a');
  const named = { name: own.name, target: folder('file:///a').target };
  await of('subscription', { ...named, onProgress: (update: JsonObject) => updates.push(update) });
  hide(({ name, publicName }) => name.endsWith('secret.txt') && publicName.endsWith('secret.txt'));
  update('file:///a/secret.txt');
  update('file:///a/open.txt');
  expect(updates.map(({ uri }) => uri)).toEqual([
    'file:///a',
    'heddle://demo/file:///a',
    'file:///a/open.txt',
    'heddle://demo/file:///a/open.txt',
  ]);
});

verifies('R6', 'handles an update with a very long URI in time', async () => {
  const { of, update } = setting();
  await of('subscription', folder('file:///a'));
  await within(500, () => {
    for (let times = 0; times < 20; times++) update('/'.repeat(20_000));
  });
});
