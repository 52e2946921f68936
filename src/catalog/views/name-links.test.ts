import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject, Result } from '../../core/call.ts';
import { aCall } from '../../core/fixtures.ts';
import { withNamedLinks } from './name-links.ts';

const resultOf = (value: JsonObject): Result => ({
  kind: 'complete',
  value,
  isError: false,
  provenance: { server: 'demo', attempts: 1, latencyMs: 1 },
});
const renamed = (kind: 'tool' | 'prompt', value: JsonObject) =>
  withNamedLinks(aCall({ kind }), resultOf(value), (_call, server, uri) => uri.replace('ui://', `ui://${server}/`));

verifies('T13', 'names links and embedded resources of tools and prompts', () => {
  const link = { type: 'resource_link', uri: 'ui://x/1', name: 'x', more: 1 };
  const embedded = { type: 'resource', resource: { uri: 'ui://x/2', text: 'ui://x/2' } };
  const after = [
    { ...link, uri: 'ui://demo/x/1' },
    { type: 'resource', resource: { uri: 'ui://demo/x/2', text: 'ui://x/2' } },
  ];
  expect(renamed('tool', { content: [link, embedded], structuredContent: { link } })).toMatchObject({
    value: { content: after, structuredContent: { link } },
  });
  const messages = (content: readonly JsonObject[]) => content.map((one) => ({ role: 'user', content: one }));
  expect(renamed('prompt', { messages: messages([link, embedded]) })).toMatchObject({
    value: { messages: messages(after) },
  });
});

verifies('P1', 'returns the same result if it has no links, or links of no known form', () => {
  const odd: JsonObject[] = [
    {},
    { content: 'ui://x/1' },
    { content: [null, 1, 'ui://x/1', [], { type: 'text', text: 'ui://x/1', uri: 'ui://x/1' }] },
    { content: [{ type: 'resource_link', uri: 7 }, { type: 'resource' }, { type: 'resource', resource: [] }] },
    { messages: [null, 'ui://x/1', { content: null }, { content: [{ type: 'resource_link' }] }] },
  ];
  for (const value of odd) {
    for (const kind of ['tool', 'prompt'] as const) {
      const result = resultOf(value);
      expect(withNamedLinks(aCall({ kind }), result, () => 'other')).toBe(result);
    }
  }
});
