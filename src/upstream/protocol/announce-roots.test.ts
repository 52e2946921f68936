import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { JsonObject } from '../../core/call.ts';
import { openServerRequests } from '../elicitation/server-requests.ts';
import { suspendedCalls } from '../elicitation/suspended-calls.ts';
import { HELLO, tinyServer } from '../fixtures.ts';
import { connectInMemory } from '../transports/connect-in-memory.ts';

const CHANGED = 'notifications/roots/list_changed';
const CLIENT = { ...NO_CAPABILITIES, roots: true, rootsListChanged: true };

/** Opens a connection to a legacy server while these roots are configured. */
async function opened(first: readonly string[], capabilities = NO_CAPABILITIES) {
  let roots = first;
  let declared: JsonObject = {};
  const tiny = tinyServer({
    initialize(params) {
      declared = params.capabilities as JsonObject;
      return HELLO;
    },
  });
  const sampling = () => ({ maxCalls: 1, windowMs: 1, maxTokens: 1 });
  const serverRequests = openServerRequests({ suspendedCalls: suspendedCalls(), roots: () => roots, sampling });
  const signal = new AbortController().signal;
  const options = { server: 'demo', signal, known: undefined, capabilities, serverRequests, onNotification() {} };
  const connection = await connectInMemory(tiny.serve)(options);
  onTestFinished(() => connection.close());
  return {
    connection,
    declared,
    told: () => tiny.notifications.filter(([method]) => method === CHANGED).length,
    /** Sends another notification, so that those before have arrived. */
    async configure(next: readonly string[]) {
      roots = next;
      serverRequests.configured();
      const before = tiny.notifications.length;
      await connection.notify('test/sent', {}, signal);
      await until('it has arrived', () => tiny.notifications.slice(before).some(([method]) => method === 'test/sent'));
    },
  };
}

verifies('T10', 'a server that lists the configured roots is told when they change, and only then', async () => {
  const { declared, told, configure } = await opened(['/one']);
  expect(declared).toEqual({ roots: { listChanged: true } });
  await configure(['/one']);
  expect(told()).toBe(0);
  await configure(['/one', '/two']);
  expect(told()).toBe(1);
});

verifies('T10', 'a server without the configured roots gets no notification about them', async () => {
  const none = await opened([]);
  expect(none.declared).toEqual({});
  await none.configure(['/one']);
  expect(none.told()).toBe(0);
  const ofClient = await opened(['/one'], { ...NO_CAPABILITIES, roots: true });
  expect(ofClient.declared).toEqual({ roots: {} });
  await ofClient.configure(['/two']);
  expect(ofClient.told()).toBe(0);
});

verifies('T10', 'a connection of a client that announces its roots declares that, and sends its changes', async () => {
  const { declared, told, connection, configure } = await opened([], CLIENT);
  expect(declared).toEqual({ roots: { listChanged: true } });
  connection.rootsChanged?.();
  await configure(['/one']); // A server that lists roots outside of a call gets the configured ones.
  expect(told()).toBe(2);
  const silent = await opened(['/one'], { ...NO_CAPABILITIES, roots: true });
  expect(silent.connection.rootsChanged).toBeUndefined();
});

verifies('T10', 'many changes at once are one notification in flight and one after it', async () => {
  const { told, connection, configure } = await opened([], CLIENT);
  for (let change = 0; change < 10_000; change++) connection.rootsChanged?.();
  await configure([]);
  expect(told()).toBe(2);
});
