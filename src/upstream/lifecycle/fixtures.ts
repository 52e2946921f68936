import { onTestFinished } from 'vitest';
import { capabilitiesKey, NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities } from '../../core/call.ts';
import { suspendedCalls } from '../elicitation/suspended-calls.ts';
import { fakeTime, HELLO, memoryBook, planOf, tinyServer, toolCall } from '../fixtures.ts';
import { openServers, type ServersOptions } from '../servers.ts';
import { connectInMemory } from '../transports/connect-in-memory.ts';
import type { ServerPlan } from './plan-server.ts';
import { openServerCache } from './server-cache.ts';

export const withCapabilities = (...names: (keyof ClientCapabilities)[]): ClientCapabilities => ({
  ...NO_CAPABILITIES,
  ...Object.fromEntries(names.map((name) => [name, true])),
});

/** A tool call of this principal, on a client with these capabilities. */
export const callOf = (id: string, capabilities?: ClientCapabilities) =>
  toolCall('do', {}, { caller: { id, roles: ['user'], via: 'gateway' }, ...(capabilities && { capabilities }) });

interface PoolSetting extends Partial<Pick<ServersOptions, 'user'>> {
  readonly answers?: Parameters<typeof tinyServer>[0];
  readonly plan?: Partial<ServerPlan>;
}

/** Opens one server behind `openServers`, and records the capabilities that each connection declared. */
export function openPool({ answers = {}, plan = {}, user }: PoolSetting = {}) {
  const { signal } = new AbortController();
  const declared: unknown[] = [];
  const tiny = tinyServer({
    initialize({ capabilities }) {
      declared.push(capabilities);
      return HELLO;
    },
    'tools/call': () => ({ content: [] }),
    ...answers,
  });
  const time = fakeTime();
  const servers = openServers({
    plans: [planOf({ connect: connectInMemory(tiny.serve), ...plan })],
    suspendedCalls: suspendedCalls(),
    cache: openServerCache({ saved: [], book: memoryBook(), sharedSet: capabilitiesKey(user?.capabilities) }),
    localConcurrency: 3,
    remoteConcurrency: 20,
    ...time,
    user,
    onStatus: () => {},
    onList: () => {},
    onNotification: () => {},
  });
  onTestFinished(() => servers.close());
  return {
    servers,
    tiny,
    time,
    declared,
    connectionFor: (...call: Parameters<typeof callOf>) => servers.connectionFor('demo', callOf(...call), signal),
    ready: (...call: Parameters<typeof callOf>) => servers.ready('demo', callOf(...call)),
    privateCount: () => servers.status()[0]?.privateConnections ?? 0,
  };
}

export const turn = () => new Promise(setImmediate);
