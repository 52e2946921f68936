import { expect } from 'vitest';
import { decider } from '../../src/govern/decide.ts';
import { rates } from '../../src/govern/rate-limit.ts';
import { stageNames, stages } from '../../src/govern/stages.ts';
import { openStore } from '../../src/store/open-store.ts';
import { verifies } from '../requirements.ts';

// The order is a security property: rates before work, rules before the record, the record before the call.
const PINNED = [
  'trace',
  'audit',
  'resolve',
  'rateLimit',
  'validateInput',
  'permit',
  'recordIntent',
  'deadline',
  'invoke',
];

verifies('G1', 'every call passes these stages in this order', async () => {
  const store = await openStore({ location: ':memory:' });
  const decide = decider({ mode: 'guarded', permissions: { allow: [], ask: [], deny: [] }, servers: new Map() });
  const unlimited = rates(() => ({ servers: new Map(), perCaller: undefined }));
  expect(stageNames(stages({ audit: store.audit, traces: store.traces, decide, rates: unlimited }))).toEqual(PINNED);
  await store.close();
});
