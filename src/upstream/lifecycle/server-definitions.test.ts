import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { UpstreamError } from '../../core/errors.ts';
import { openServerCache } from './server-cache.ts';
import { serverDefinitions } from './server-definitions.ts';

verifies('C2', 'finds out the transport again after a timeout, also when the cache has one', () => {
  const lists = { tools: [], resources: [], templates: [], prompts: [] };
  const common = { server: 'demo', signature: 'sig', era: 'legacy', at: 0, lists, urlTransport: 'sse' } as const;
  const saved = [0, 3].map((capabilitySet) => ({ ...common, capabilitySet }));
  const definitions = serverDefinitions({
    plan: { name: 'demo', signature: 'sig', scope: 'user' } as never,
    cache: openServerCache({ saved, book: { remember: async () => {}, forget: async () => {} } }),
    clock: () => 0,
    onCapabilityTools: () => {},
  });
  expect(definitions.urlTransport()).toBe('sse');
  definitions.invalidate(new UpstreamError('UPSTREAM_UNREACHABLE', 'Nothing listens.', { delivered: 'no' }));
  expect(definitions.urlTransport()).toBe('sse');
  definitions.invalidate(new UpstreamError('UPSTREAM_TIMEOUT', 'No response.', { delivered: 'no' }));
  expect(definitions.urlTransport()).toBeUndefined();
});
