import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { RoutingOptions } from '../../core/call.ts';
import { aCall, aStatus, aTarget } from '../../core/fixtures.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import { inOrder } from './choose.ts';

interface Server extends Partial<ServerStatus> {
  readonly priority?: number;
  readonly rate?: number;
  readonly ms?: number;
}

const NOW = 1_000_000;
const WELL = { state: 'connected', health: 'ok' } as const;
const metricsOf = ({ rate = 1, ms = 1 }: Server = {}) => ({ recentRate: () => rate, avgLatencyMs: ms });

/** The order in which these are asked, told as one word. */
function order(servers: Readonly<Record<string, Server>>, options: RoutingOptions = {}): string {
  const names = Object.keys(servers) as [string, ...string[]];
  const call = aCall({ target: aTarget({ servers: names }), options });
  return inOrder(call, {
    statusOf: (name) => servers[name] && aStatus({ ...WELL, ...servers[name] }),
    metricsOf: (name) => metricsOf(servers[name]),
    priorityOf: (name) => servers[name]?.priority ?? 0,
    clock: () => NOW,
    wallClock: () => NOW,
  }).join('');
}

verifies('R3', 'sorts by priority, then success rate, then latency', () => {
  expect(order({ a: {}, b: { priority: 1, rate: 0, ms: 900 } })).toBe('ba');
  expect(order({ a: { rate: 0.9, ms: 1 }, b: { rate: 0.96, ms: 900 } })).toBe('ba');
  expect(order({ a: { ms: 20 }, b: { ms: 10 } })).toBe('ba');
  expect(order({ a: {}, b: {}, c: {} })).toBe('abc');
});

verifies('R3', 'treats success rates within 0.05 as equal', () => {
  expect(order({ a: { rate: 1, ms: 20 }, b: { rate: 0.95, ms: 10 } })).toBe('ba');
  expect(order({ a: { rate: 1, ms: 20 }, b: { rate: 0.949, ms: 10 } })).toBe('ab');
  // b is near both of the others, which are far from each other: the best is what counts.
  expect(order({ a: { rate: 0.9, ms: 1 }, b: { rate: 0.96, ms: 2 }, c: { rate: 1, ms: 3 } })).toBe('bca');
});

verifies('R3', 'prefers a server without measurements to a slower one', () => {
  expect(order({ a: { ms: 5 }, b: { ms: 0 } })).toBe('ba');
});

verifies('R3', 'sorts connected servers before unstarted ones, and both before unhealthy ones', () => {
  const servers = {
    a: { health: 'unhealthy', priority: 9 },
    b: { state: 'pending', priority: 8 },
    c: { priority: 1 },
    d: { state: 'failed', retryFrom: NOW, priority: 9 },
  } as const;
  expect(order(servers)).toBe('cbad');
});

verifies('R3', 'calls a failed server only after its delay, and a disabled or needs-auth server never', () => {
  const failed = (more: Server = {}) => order({ a: { state: 'failed', ...more }, b: { state: 'pending' } });
  expect(failed()).toBe('b');
  expect(failed({ retryFrom: NOW + 1 })).toBe('b');
  expect(failed({ retryFrom: NOW })).toBe('ba');
  expect(order({ a: { state: 'disabled' }, b: { state: 'needs-auth' }, c: {} })).toBe('c');
  expect(order({ a: { state: 'disabled' }, b: { state: 'needs-auth' } })).toBe('a');
});

verifies('R3', 'calls the preferred server first if it is usable', () => {
  expect(order({ a: {}, b: { health: 'unhealthy' }, c: {} }, { preferredServer: 'b' })).toBe('bac');
  expect(order({ a: {}, b: { state: 'failed' } }, { preferredServer: 'b' })).toBe('a');
  expect(order({ a: {}, b: {} }, { preferredServer: 'z' })).toBe('ab');
  expect(order({ a: {}, b: {} }, { preferredServer: 'b', failover: false })).toBe('b');
});

verifies('R3', 'returns the only server without ranking', () => {
  const target = aTarget({ servers: ['only'] });
  const never = () => {
    throw new Error('Not called.');
  };
  const options = { statusOf: never, metricsOf: never, priorityOf: never, clock: never, wallClock: never };
  expect(inOrder(aCall({ target }), options)).toBe(target.servers);
});
