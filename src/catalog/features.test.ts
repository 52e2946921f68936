import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
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
const ANYTHING = { resources: true, subscribe: true, prompts: true, completions: true };
const NOTHING = { resources: false, subscribe: false, prompts: false, completions: false };

verifies('P1', 'a connected server has the features of its capabilities only', () => {
  const capabilities = { tools: {}, resources: {}, completions: {} };
  const info = { capabilities };
  expect(featuresOf([server({ state: 'connected', info })])).toEqual({
    ...NOTHING,
    resources: true,
    completions: true,
  });
  const subscribable = { capabilities: { resources: { subscribe: true }, prompts: {} } };
  expect(featuresOf([server({ state: 'connected', info: subscribable })])).toEqual({
    ...NOTHING,
    resources: true,
    subscribe: true,
    prompts: true,
  });
});

verifies('P1', 'an unconnected server has the features of its last lists, and a server never seen may have all', () => {
  const listed = { tools: 3, resources: 0, templates: 0, prompts: 0 };
  expect(featuresOf([server(listed)])).toEqual(NOTHING);
  expect(featuresOf([server({ ...listed, prompts: 1 })])).toEqual({ ...NOTHING, prompts: true, completions: true });
  expect(featuresOf([server({})])).toEqual(ANYTHING);
  for (const state of ['failed', 'needs-auth', 'disabled'] as const)
    expect(featuresOf([server({ state })])).toEqual(NOTHING);
  expect(featuresOf([])).toEqual(NOTHING);
});

verifies('P1', 'a connecting server may have prompts and resources until their lists arrive after the tools', () => {
  expect(featuresOf([server({ tools: 3 })])).toEqual(ANYTHING);
  const listed = { tools: 3, resources: 0, templates: 0 };
  expect(featuresOf([server(listed)])).toEqual({ ...NOTHING, prompts: true, completions: true });
  expect(featuresOf([server({ ...listed, state: 'failed' })])).toEqual(NOTHING);
});
