import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { ownerOf, userKey } from '../../core/call/private-user.ts';
import type { Caller, ClientCapabilities } from '../../core/call.ts';
import type { CatalogChange } from '../../core/records/server-status.ts';
import { META } from '../../wire/mcp.ts';
import {
  capabilitiesInMeta,
  isChangeVisibleTo,
  narrowExtensions,
  parseClientCapabilities,
  withCapabilities,
} from './client-capabilities.ts';

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

verifies('T13', 'reads the extensions of a client, without tasks and without those that are no objects', () => {
  const maps = { 'com.example/maps': { zoom: 3 } };
  const extensions = { 'io.modelcontextprotocol/tasks': {}, ...maps, 'com.example/odd': 'yes' };
  expect(parseClientCapabilities({ extensions })).toEqual({ ...FORM, form: false, extensions: maps });
  expect(parseClientCapabilities({ elicitation: {}, extensions })).toEqual({ ...FORM, extensions: maps });
  expect(capabilitiesInMeta({ _meta: { [META.clientCapabilities]: { extensions } } })?.extensions).toEqual(maps);
  expect(parseClientCapabilities({ extensions: { 'io.modelcontextprotocol/tasks': {} } })).toBeUndefined();
  expect(parseClientCapabilities({ extensions: [] })).toBeUndefined();
});

verifies('T13', 'keeps 32 of 10,000 extensions, and none with settings of 1 MB', () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`com.example/e${at}`, {}]));
  const large = { 'com.example/large': { text: 'x'.repeat(1_000_000) }, 'com.example/small': {} };
  expect(Object.keys(parseClientCapabilities({ extensions: many })?.extensions ?? {})).toHaveLength(32);
  expect(parseClientCapabilities({ extensions: large })?.extensions).toEqual({ 'com.example/small': {} });
});

verifies('T13', 'removes the extensions that no server has, with each request anew', () => {
  const declared = { ...FORM, extensions: { 'com.example/maps': { zoom: 3 }, 'com.example/other': {} } };
  const known = new Set<string>();
  const narrow = (client: ClientCapabilities) => narrowExtensions(client, { hasExtension: (id) => known.has(id) });
  expect(narrow(declared)).toEqual(FORM);
  expect(narrow({ ...declared, form: false })).toBeUndefined();
  expect(narrow(FORM)).toBe(FORM);
  known.add('com.example/maps');
  const narrowed = narrow(declared);
  expect(narrowed).toEqual({ ...FORM, extensions: { 'com.example/maps': { zoom: 3 } } });
  expect(narrow(declared)).toBe(narrowed);
  known.add('com.example/other');
  expect(narrow(declared)).toBe(declared);
  const host = { ...FORM, extensions: { 'io.modelcontextprotocol/ui': {} } };
  expect(narrow({ ...host, extensions: { ...host.extensions, 'com.example/unknown': {} } })).toEqual(host);
});

verifies('T13', 'returns the same caller object for equal extensions, and keeps 128 of those that differ', () => {
  const caller = { ...ann };
  const withSetting = (at: number) => withCapabilities(caller, { ...FORM, extensions: { e: { at } } }, 'modern');
  const first = withSetting(0);
  expect(withSetting(0)).toBe(first);
  for (let at = 1; at <= 128; at++) withSetting(at);
  expect(withSetting(0)).not.toBe(first);
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
