import { ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { aTarget } from '../../core/fixtures.ts';
import { presentTool } from './present-tool.ts';

const presented = (definition: JsonObject) =>
  presentTool(aTarget({ definition: { name: 'echo', ...definition } }), 'legacy');

verifies('P1', 'passes a description of any length unchanged', () => {
  const description = 'é👍 '.repeat(2500);
  expect(presented({ description }).description).toBe(description);
});

verifies('P1', 'adds `type: object` to an input schema without it', () => {
  expect(presented({}).inputSchema).toEqual({ type: 'object' });
  expect(presented({ inputSchema: true }).inputSchema).toEqual({ type: 'object' });
  const loose = { properties: { any: true, none: false, some: { type: 'string' } }, required: ['any'], 'x-odd': 1 };
  expect(presented({ inputSchema: loose }).inputSchema).toEqual({
    ...loose,
    type: 'object',
    properties: { any: {}, none: { not: {} }, some: { type: 'string' } },
  });
});

verifies('P1', 'removes an output schema that is no object for a legacy client only', () => {
  const target = aTarget({ definition: { name: 'echo', outputSchema: { type: 'array' } } });
  expect(presentTool(target, 'modern').outputSchema).toEqual({ type: 'array' });
  expect(presentTool(target, 'legacy')).not.toHaveProperty('outputSchema');
});

verifies('P1', 'removes `taskSupport: required` for a legacy client, which would refuse to call the tool', () => {
  const executionOf = (execution: JsonObject, era: 'legacy' | 'modern') =>
    presentTool(aTarget({ definition: { name: 'echo', execution } }), era).execution;
  for (const era of ['legacy', 'modern'] as const) {
    expect(executionOf({ taskSupport: 'optional' }, era)).toEqual({ taskSupport: 'optional' });
    expect(executionOf({ taskSupport: 'forbidden', vendor: 1 }, era)).toEqual({ taskSupport: 'forbidden', vendor: 1 });
    expect(executionOf({ taskSupport: 'maybe', vendor: 1 }, era)).toEqual({ vendor: 1 });
  }
  expect(executionOf({ taskSupport: 'required' }, 'legacy')).toBeUndefined();
  expect(executionOf({ taskSupport: 'required' }, 'modern')).toEqual({ taskSupport: 'required' });
});

verifies('P1', 'presents any definition so that a strict client accepts the list', () => {
  const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({ type: 'object' })) as fc.Arbitrary<JsonObject>;
  const hints = fc.dictionary(
    fc.constantFrom('title', 'readOnlyHint', 'openWorldHint'),
    odd,
  ) as fc.Arbitrary<JsonObject>;
  const icon = fc.dictionary(fc.constantFrom('src', 'sizes', 'theme', 'mimeType'), odd);
  const output = fc.dictionary(fc.constantFrom('type', 'properties', 'required', '$schema'), odd);
  const fields = fc.record(
    {
      title: odd,
      description: odd,
      annotations: fc.oneof(odd, hints),
      icons: fc.oneof(odd, fc.array(icon)),
      execution: fc.oneof(odd, fc.constantFrom({ taskSupport: 'optional' }, { taskSupport: 'maybe' })),
      outputSchema: fc.oneof(odd, output),
      _meta: odd,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fields, (definition) => {
      const tool = presented(JSON.parse(JSON.stringify(definition)));
      expect(ListToolsResultSchema.safeParse({ tools: [tool] }).error?.issues ?? []).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
