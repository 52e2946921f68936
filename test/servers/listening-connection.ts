import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { followChanges } from '../../src/upstream/protocol/follow-changes.ts';
import type { RpcError } from '../../src/wire/json-rpc.ts';
import { linkedPair } from '../../src/wire/linked-pair.ts';
import type { Era } from '../../src/wire/mcp.ts';
import { Peer } from '../../src/wire/peer.ts';

export const TAG = 'io.modelcontextprotocol/subscriptionId';
export const TOOLS = 'notifications/tools/list_changed';
export const PROMPTS = 'notifications/prompts/list_changed';
export const UPDATED = 'notifications/resources/updated';
const ALL = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true } };
export const anySignal = new AbortController().signal;

interface ListenRequest {
  readonly id: number;
  readonly filter: JsonObject;
  readonly signal: AbortSignal;
  end(): void;
  fail(error: Error): void;
}

interface ListeningOptions {
  readonly era?: Era;
  readonly capabilities?: JsonObject;
  readonly refusal?: RpcError;
  /** Returns the filter that the server acknowledges; undefined for no acknowledgement. */
  readonly acknowledges?: (filter: JsonObject) => JsonObject | undefined;
}

/** Opens a connection to a server, follows its changes and records all messages. */
export async function openListeningConnection({
  era = 'modern',
  capabilities = ALL,
  refusal,
  acknowledges = (all) => all,
}: ListeningOptions = {}) {
  const [near, far] = linkedPair();
  const listens: ListenRequest[] = [];
  const requests: string[] = [];
  const server = new Peer(far, {
    server: 'Heddle',
    answer(method, params, { id, signal }) {
      requests.push(`${method} ${params.uri ?? ''}`.trim());
      if (refusal) return Promise.reject(refusal);
      if (method !== 'subscriptions/listen') return Promise.resolve({});
      const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
      const filter = params.notifications as JsonObject;
      listens.push({ id: Number(id), filter, signal, end: () => resolve({}), fail: reject });
      const notifications = acknowledges(filter);
      const _meta = { [TAG]: id };
      if (notifications) void server.notify('notifications/subscriptions/acknowledged', { notifications, _meta });
      return promise;
    },
  });
  const received: [string, JsonObject][] = [];
  const delays: number[] = [];
  let now = 0;
  let retry = () => {};
  const peer = new Peer(near, {
    server: 'demo',
    onNotification: (...notification) => changes.onNotification(...notification),
  });
  await Promise.all([server.start(), peer.start()]);
  const changes = followChanges(peer, {
    server: 'demo',
    agreement: { era, newest: era, protocolVersion: '', capabilities, serverInfo: {}, instructions: undefined },
    onNotification: (method, params) => void received.push([method, params]),
    clock: () => now,
    wait(ms, signal) {
      delays.push(ms);
      const { promise, resolve } = Promise.withResolvers<void>();
      retry = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
      return promise;
    },
  });
  onTestFinished(() => peer.close());
  await settled();
  return {
    changes,
    peer,
    server,
    listens,
    requests,
    received,
    delays,
    notify: (method: string, params: JsonObject, tag = listens.at(-1)?.id) =>
      server.notify(method, { ...params, _meta: { [TAG]: tag, ...(params._meta as JsonObject) } }).then(settled),
    retry: () => {
      retry();
      return settled();
    },
    advance: (ms: number) => {
      now += ms;
    },
    isOpen: () => listens.map(({ signal }) => !signal.aborted),
  };
}

/** Waits one turn of the event loop. In-process transports deliver on microtasks, so all messages have arrived. */
export const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
