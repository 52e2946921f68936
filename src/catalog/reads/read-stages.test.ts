import { expect } from 'vitest';
import { within } from '../../../test/limits.ts';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject, Result, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { aCall, aTarget } from '../../core/fixtures.ts';
import { notifications } from '../../upstream/lifecycle/notifications.ts';
import type { Servers } from '../../upstream/servers.ts';
import { readStages } from './read-stages.ts';

const UPDATED = 'notifications/resources/updated';

function setting({ refuses = false } = {}) {
  const heard = notifications();
  const line = {};
  const asked: string[] = [];
  let hidden: (target: Target) => boolean = () => false;
  const servers = {
    shared: () => line,
    privateUserFor: async () => undefined,
    subscribe: async (_server: string, { uri }: { uri: string }) => {
      asked.push(`subscribe ${uri}`);
      if (refuses) throw new HeddleError('UPSTREAM_REFUSED', 'no');
    },
    unsubscribe: async (_server: string, { uri }: { uri: string }) => void asked.push(`unsubscribe ${uri}`),
  } as unknown as Servers;
  const invoke = async (): Promise<Result> => {
    asked.push('read');
    const value = { contents: [], ttlMs: 60_000 };
    return { kind: 'complete', value, isError: false, provenance: { server: 'demo', attempts: 1, latencyMs: 1 } };
  };
  const handle = readStages(invoke, { servers, heard, visible: (_caller, target) => !hidden(target) });
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
    asked,
    of,
    update: (uri: string, server = 'demo') => heard.tell(server, UPDATED, { uri }),
    hide: (which: (target: Target) => boolean = () => true) => (hidden = which),
  };
}

verifies('R7', 'what is kept is forgotten when its server says that it has changed', async () => {
  const { asked, of, update } = setting();
  await of('resource');
  update('u:2');
  update('u:1', 'other');
  await of('resource');
  expect(asked).toEqual(['read']);
  update('u:1');
  await of('resource');
  expect(asked).toEqual(['read', 'read']);
});

verifies('R7', 'a read that began before a change is not shared with one after it', async () => {
  const { asked, of, update } = setting();
  const before = of('resource');
  update('u:1');
  await Promise.all([before, of('resource')]);
  expect(asked).toEqual(['read', 'read']);
});

verifies('R6', 'whoever may no longer see a resource is no longer told of it', async () => {
  const { of, update, hide } = setting();
  const told: JsonObject[] = [];
  await of('subscription', { report: (update: JsonObject) => told.push(update) });
  update('u:1');
  hide();
  update('u:1');
  expect(told).toEqual([{ uri: 'u:1' }]);
});

verifies('R6', 'one who breaks on an update keeps it from nobody else', async () => {
  const { of, update } = setting();
  const told: JsonObject[] = [];
  const breaks = () => {
    throw new Error('broken');
  };
  await of('subscription', { report: breaks });
  await of('subscription', { report: (update: JsonObject) => told.push(update) });
  update('u:1');
  expect(told).toHaveLength(1);
});

verifies('R6', 'a subscription that a server refuses hears nothing, and one that is ended is over', async () => {
  const refused = setting({ refuses: true });
  const told: JsonObject[] = [];
  const report = (update: JsonObject) => told.push(update);
  await expect(refused.of('subscription', { report })).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED' });
  refused.update('u:1');
  expect(told).toEqual([]);

  const { asked, of, update } = setting();
  const early = new AbortController();
  const begun = of('subscription', { report, signal: early.signal });
  early.abort();
  await expect(begun).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  const late = new AbortController();
  await of('subscription', { report, signal: late.signal });
  late.abort();
  await until('the server is told twice', () => asked.filter((one) => one.startsWith('unsubscribe')).length === 2);
  update('u:1');
  expect(told).toEqual([]);
});

const folder = (name: string) => ({
  name,
  target: aTarget({ kind: 'resource', publicName: name, name, facts: { readOnly: true } }),
});

verifies('R6', 'whoever follows a folder is told of what lies in it, and not of its neighbours', async () => {
  const { of, update } = setting();
  const told: JsonObject[] = [];
  for (const name of ['file:///a', 'file:///a/']) {
    await of('subscription', { ...folder(name), report: (update: JsonObject) => told.push({ name, ...update }) });
  }
  for (const uri of ['file:///ab', 'file:///', 'file:///a/b/c']) update(uri);
  update('file:///a/b', 'other');
  expect(told).toEqual([
    { name: 'file:///a', uri: 'file:///a/b/c' },
    { name: 'file:///a/', uri: 'file:///a/b/c' },
  ]);
});

verifies('R6', 'whoever follows a folder is not told the name of what is hidden in it', async () => {
  const { of, update, hide } = setting();
  const told: JsonObject[] = [];
  await of('subscription', { ...folder('file:///a'), report: (update: JsonObject) => told.push(update) });
  const own = folder('heddle://demo/file:///a');
  const named = { name: own.name, target: folder('file:///a').target };
  await of('subscription', { ...named, report: (update: JsonObject) => told.push(update) });
  hide(({ name, publicName }) => name.endsWith('secret.txt') && publicName.endsWith('secret.txt'));
  update('file:///a/secret.txt');
  update('file:///a/open.txt');
  expect(told.map(({ uri }) => uri)).toEqual([
    'file:///a',
    'heddle://demo/file:///a',
    'file:///a/open.txt',
    'heddle://demo/file:///a/open.txt',
  ]);
});

verifies('R6', 'an update with an endless URI holds up nobody', async () => {
  const { of, update } = setting();
  await of('subscription', folder('file:///a'));
  await within(500, () => {
    for (let times = 0; times < 20; times++) update('/'.repeat(20_000));
  });
});
