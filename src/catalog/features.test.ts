import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Extensions } from '../core/call.ts';
import type { ServerStatus } from '../core/records/server-status.ts';
import { featuresOf } from './features.ts';

const server = (more: Partial<ServerStatus>): ServerStatus => ({
  name: 's',
  scope: 'user',
  transport: 'stdio',
  state: 'pending',
  attempt: [0, 5],
  health: 'unknown',
  sandbox: 'none',
  ...more,
});
const featuresWith = (servers: readonly ServerStatus[]) => featuresOf(servers, () => undefined);
const ANYTHING = { resources: true, subscribe: true, prompts: true, completions: true };
const NOTHING = { resources: false, subscribe: false, prompts: false, completions: false };

verifies('P1', 'a connected server has the features of its capabilities only', () => {
  const capabilities = { tools: {}, resources: {}, completions: {} };
  const info = { capabilities };
  expect(featuresWith([server({ state: 'connected', info })])).toEqual({
    ...NOTHING,
    resources: true,
    completions: true,
  });
  const subscribable = { capabilities: { resources: { subscribe: true }, prompts: {} } };
  expect(featuresWith([server({ state: 'connected', info: subscribable })])).toEqual({
    ...NOTHING,
    resources: true,
    subscribe: true,
    prompts: true,
  });
});

verifies('P1', 'an unconnected server has the features of its last lists, and a server never seen may have all', () => {
  const listed = { tools: 3, resources: 0, templates: 0, prompts: 0 };
  expect(featuresWith([server(listed)])).toEqual(NOTHING);
  expect(featuresWith([server({ ...listed, prompts: 1 })])).toEqual({ ...NOTHING, prompts: true, completions: true });
  expect(featuresWith([server({})])).toEqual(ANYTHING);
  for (const state of ['failed', 'needs-auth', 'disabled'] as const)
    expect(featuresWith([server({ state })])).toEqual(NOTHING);
  expect(featuresWith([])).toEqual(NOTHING);
});

verifies('P1', 'a connecting server may have prompts and resources until their lists arrive after the tools', () => {
  expect(featuresWith([server({ tools: 3 })])).toEqual(ANYTHING);
  const listed = { tools: 3, resources: 0, templates: 0 };
  expect(featuresWith([server(listed)])).toEqual({ ...NOTHING, prompts: true, completions: true });
  expect(featuresWith([server({ ...listed, state: 'failed' })])).toEqual(NOTHING);
});

verifies('T13', 'merges the extensions of all servers, and the first server by name decides a setting', () => {
  const declared: Readonly<Record<string, Extensions>> = {
    b: { 'com.example/maps': { zoom: 3, tiles: true } },
    a: { 'com.example/maps': { zoom: 1 }, 'com.example/plain': {} },
  };
  const all = ['b', 'a', 'none'].map((name) => server({ name, state: 'connected', info: { capabilities: {} } }));
  const { extensions } = featuresOf(all, (name) => declared[name]);
  expect(extensions).toEqual({ 'com.example/maps': { zoom: 1, tiles: true }, 'com.example/plain': {} });
  const disabled = all.map((one) => (one.name === 'a' ? { ...one, state: 'disabled' as const } : one));
  expect(featuresOf(disabled, (name) => declared[name]).extensions).toEqual(declared.b);
});
