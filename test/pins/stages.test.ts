import { expect } from 'vitest';
import { liveCatalog } from '../../src/catalog/live-catalog.ts';
import { readStages } from '../../src/catalog/reads/read-stages.ts';
import { decides, noApprovals } from '../../src/govern/fixtures.ts';
import { rates } from '../../src/govern/rate-limit.ts';
import { stageNames, stages } from '../../src/govern/stages.ts';
import { openStore } from '../../src/store/open-store.ts';
import { notifications } from '../../src/upstream/lifecycle/notifications.ts';
import type { Servers } from '../../src/upstream/servers.ts';
import { verifies } from '../requirements.ts';

// The order is a security property: limits before work, the decision before the record, the record before the call.
const PINNED = [
  'trace',
  'audit',
  'resolve',
  'rateLimit',
  'budget',
  'hooks',
  'validateInput',
  'permit',
  'approve',
  'recordIntent',
  'deadline',
  'cache',
  'coalesce',
  'followUpdates',
  'invoke',
];

verifies('G1', 'every call passes these stages in this order', async () => {
  const store = await openStore({ location: ':memory:' });
  const unlimited = rates(() => ({ servers: new Map(), perCaller: undefined }));
  const servers = { cacheable: () => undefined } as unknown as Servers;
  const catalog = liveCatalog({ owners: new Map(), remembered: [], onChange: () => {} });
  const reads = readStages({ catalog, servers, notifications: notifications(), visible: () => true });
  const parts = { audit: store.audit, traces: store.traces, decide: decides(), rates: unlimited, reads };
  const order = stages({ ...parts, approvals: noApprovals });
  expect(stageNames(order)).toEqual(PINNED);
  await store.close();
});
