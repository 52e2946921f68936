import { ListPromptsResultSchema, ListResourcesResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { aTarget } from '../../core/fixtures.ts';
import { presentPrompt, presentResource } from './present-resource.ts';

const resource = (definition: JsonObject) =>
  presentResource(aTarget({ kind: 'resource', publicName: 'heddle://s/u:1', name: 'u:1', definition }), 'legacy');
const prompt = (definition: JsonObject) =>
  presentPrompt(aTarget({ kind: 'prompt', publicName: 'mcp__s__p', name: 'p', definition }), 'legacy');

verifies('P1', 'passes valid fields and unknown fields unchanged', () => {
  const definition = {
    uri: 'u:1',
    name: 'one',
    title: 'One',
    size: 3,
    mimeType: 'text/plain',
    annotations: { audience: ['user'], priority: 0.5, lastModified: '2026-01-01', more: 1 },
    icons: [{ src: 'https://example.com/i.png' }],
    _meta: { a: 1 },
    unknownField: { a: true },
  };
  expect(resource(definition)).toEqual({ ...definition, uri: 'heddle://s/u:1' });
  const greet = { name: 'p', arguments: [{ name: 'who', required: true, more: 1 }], unknownField: 2 };
  expect(prompt(greet)).toEqual({ ...greet, name: 'mcp__s__p' });
});

verifies('P1', 'removes invalid fields, so that a strict client accepts the list', () => {
  const odd = {
    uri: 'u:1',
    name: null,
    title: 1,
    description: [],
    size: 'big',
    mimeType: {},
    annotations: { priority: 7 },
    icons: [{}],
    _meta: 1,
  };
  expect(ListResourcesResultSchema.safeParse({ resources: [odd] }).success).toBe(false);
  expect(resource(odd)).toEqual({ uri: 'heddle://s/u:1', name: 'u:1' });
  expect(ListResourcesResultSchema.safeParse({ resources: [resource(odd)] }).success).toBe(true);
  const greet = { name: 'p', title: 1, arguments: [{ name: 'x', required: 'yes' }] };
  expect(ListPromptsResultSchema.safeParse({ prompts: [greet] }).success).toBe(false);
  expect(ListPromptsResultSchema.safeParse({ prompts: [prompt(greet)] }).success).toBe(true);
});
