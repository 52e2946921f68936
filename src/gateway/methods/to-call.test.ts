import { expect, it } from 'vitest';
import type { JsonObject } from '../../core/call.ts';
import { ada } from '../../core/fixtures.ts';
import type { RequestContext } from '../request-context.ts';
import { toCall } from './to-call.ts';

const request: RequestContext = { id: 1, era: 'modern', caller: ada, signal: AbortSignal.any([]), notify: () => true };

it('puts unknown parameters into extraParams, except those of a completion', () => {
  const params: JsonObject = {
    ref: { type: 'ref/prompt', name: 'p' },
    argument: { name: 'a', value: '' },
    context: {},
  };
  expect(toCall({ kind: 'completion', name: 'p', input: params }, params, request)).not.toHaveProperty('extraParams');
  expect(toCall({ kind: 'prompt', name: 'p', input: {} }, { name: 'p', context: 1 }, request).extraParams).toEqual({
    context: 1,
  });
});
