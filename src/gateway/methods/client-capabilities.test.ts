import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { ownerOf, userKey } from '../../core/call/private-user.ts';
import type { Caller, ClientCapabilities } from '../../core/call.ts';
import type { CatalogChange } from '../../core/records/server-status.ts';
import { META } from '../../wire/mcp.ts';
import { capabilitiesInMeta, isChangeVisibleTo, withCapabilities } from './client-capabilities.ts';

const ann: Caller = { id: 'ann', roles: ['user'], via: 'gateway' };
const FORM: ClientCapabilities = { form: true, url: false, sampling: false, samplingTools: false, roots: false };

it('returns the same caller object for the same capabilities and era', () => {
  expect(withCapabilities(ann, { ...FORM }, 'legacy')).toBe(withCapabilities(ann, FORM, 'legacy'));
  expect(withCapabilities(ann, FORM, 'legacy')).toEqual({ ...ann, capabilities: FORM, era: 'legacy' });
  expect(withCapabilities(ann, { ...FORM, url: true }, 'legacy')).not.toBe(withCapabilities(ann, FORM, 'legacy'));
  expect(withCapabilities(ann, FORM, 'modern')).not.toBe(withCapabilities(ann, FORM, 'legacy'));
});

verifies('T10', 'takes no `roots.listChanged` from a modern client, which has no such notification', () => {
  const _meta = { [META.clientCapabilities]: { roots: { listChanged: true } } };
  expect(capabilitiesInMeta({ _meta })).toEqual({ ...FORM, form: false, roots: true });
});

const change = (detail: CatalogChange['detail']) => ({ kind: 'catalog', subject: 'tools', detail }) as const;
const client = (callerId: string, capabilities?: ClientCapabilities) =>
  ({ callerId, capabilities, era: 'legacy' }) as const;

it('shows a change to all clients, or only to those of one capability set', () => {
  const both = [client('ann'), client('ann', FORM)];
  expect(both.map((one) => isChangeVisibleTo(change({}), one))).toEqual([true, true]);
  expect(both.map((one) => isChangeVisibleTo(change({ capabilities: 1 }), one))).toEqual([false, true]);
});

verifies('P1', 'hides a change on a private connection from other principals, capability sets and eras', () => {
  const own = change({ user: userKey({ principal: 'ann', capabilitySet: 1, era: 'legacy' }) });
  const others = [client('ann'), client('bob', FORM), client('ann', { ...FORM, url: true })];
  expect(isChangeVisibleTo(own, client('ann', FORM))).toBe(true);
  expect(isChangeVisibleTo(own, { ...client('ann', FORM), era: 'modern' })).toBe(false);
  expect(others.map((one) => isChangeVisibleTo(own, one))).toEqual([false, false, false]);
});

verifies('A6', 'shows the change of a private user to its client of either era', () => {
  const user = userKey(ownerOf({ caller: ann }));
  const change: CatalogChange = { kind: 'catalog', subject: 'tools', detail: { user } };
  const clientOf = (callerId: string, era: 'legacy' | 'modern') => ({ callerId, capabilities: undefined, era });
  expect(isChangeVisibleTo(change, clientOf('ann', 'legacy'))).toBe(true);
  expect(isChangeVisibleTo(change, clientOf('ann', 'modern'))).toBe(true);
  expect(isChangeVisibleTo(change, clientOf('bob', 'legacy'))).toBe(false);
});
