import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { ResolvedCall, RoutingOptions } from '../core/call.ts';
import { aCall, aTarget, text } from '../core/fixtures.ts';
import { deadline } from './deadline.ts';

async function settled(options: RoutingOptions, toolMs?: number): Promise<RoutingOptions> {
  const seen: ResolvedCall[] = [];
  const target = aTarget({ facts: toolMs === undefined ? {} : { timeoutMs: toolMs } });
  await deadline()(aCall({ options, target }), async (call) => {
    seen.push(call);
    return text('done');
  });
  return seen[0]?.options ?? {};
}

verifies('T6', 'uses the timeout of the caller, else that of the tool, else none', async () => {
  expect(await settled({ timeoutMs: 5 }, 70)).toEqual({ timeoutMs: 5 });
  expect(await settled({}, 70)).toEqual({ timeoutMs: 70 });
  expect(await settled({})).toEqual({});
});

verifies('T6', 'keeps the other options of the call', async () => {
  expect(await settled({ failover: false }, 70)).toEqual({ failover: false, timeoutMs: 70 });
});

verifies('T6', 'limits a timeout to the longest that setTimeout can hold', async () => {
  for (const timeoutMs of [Number.POSITIVE_INFINITY, 1e12]) {
    expect(await settled({ timeoutMs })).toEqual({ timeoutMs: 2 ** 31 - 1 });
    expect(await settled({}, timeoutMs)).toEqual({ timeoutMs: 2 ** 31 - 1 });
  }
});
