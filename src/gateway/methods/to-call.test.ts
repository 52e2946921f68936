import { expect, it } from 'vitest';
import type { JsonObject } from '../../core/call.ts';
import { ada } from '../../core/fixtures.ts';
import type { RequestContext } from '../request-context.ts';
import { toCall } from './to-call.ts';

const asked: RequestContext = { id: 1, era: 'modern', caller: ada, signal: AbortSignal.any([]), notify: () => true };

it('says each parameter of a completion once, and all that is unknown of the rest beside', () => {
  const params: JsonObject = {
    ref: { type: 'ref/prompt', name: 'p' },
    argument: { name: 'a', value: '' },
    context: {},
  };
  expect(toCall({ kind: 'completion', name: 'p', input: params }, params, asked)).not.toHaveProperty('beside');
  expect(toCall({ kind: 'prompt', name: 'p', input: {} }, { name: 'p', context: 1 }, asked).extraParams).toEqual({
    context: 1,
  });
});
