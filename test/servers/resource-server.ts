import type { JsonObject } from '../../src/core/call.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import type { RequestId } from '../../src/wire/incoming-requests.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';

type Reply = JsonObject | Promise<JsonObject>;

export interface ResourceServerOptions {
  readonly era?: 'legacy' | 'modern';
  readonly resources?: readonly JsonObject[];
  readonly templates?: readonly JsonObject[];
  readonly prompts?: readonly JsonObject[];
  readonly tools?: readonly JsonObject[];
  /** Answers `completion/complete`. Without it the server has no `completions` capability. */
  readonly complete?: (params: JsonObject) => Reply;
  readonly read?: (uri: string, params: JsonObject, signal: AbortSignal) => Reply;
  readonly get?: (params: JsonObject) => Reply;
}

export interface ResourceServer extends InProcessServer {
  /** The method and params of every request, in order. */
  readonly requests: [string, JsonObject][];
  /** The URIs with a subscription. */
  readonly subscribedUris: Set<string>;
  /** Returns the number of requests of a method. */
  count(method: string): number;
  /** Sends `notifications/resources/updated`. */
  update(uri: string): void;
  /** Replaces entries and sends list_changed notifications. */
  change(next: ResourceServerOptions): void;
  /** Delays responses of a method until the returned function is called. */
  delayResponses(method: string): () => void;
  /** Closes all connections. */
  drop(): Promise<void>;
}

const MODERN = '2026-07-28';
const TAG = 'io.modelcontextprotocol/subscriptionId';

export const textAt = (uri: string, text: string): JsonObject => ({
  contents: [{ uri, mimeType: 'text/plain', text }],
});

/** Creates a server in this process with resources and prompts, in either era. It records every request. */
export function resourceServer(options: ResourceServerOptions): ResourceServer {
  const requests: [string, JsonObject][] = [];
  const peers = new Set<Peer>();
  const listening = subscriptions(options.era === 'modern' ? new Set() : peers);
  const delays = new Map<string, Promise<void>>();
  let current = options;

  return {
    requests,
    subscribedUris: listening.subscribedUris,
    count: (method) => requests.filter(([one]) => one === method).length,
    update: (uri) =>
      listening.notify('notifications/resources/updated', { uri }, (uris) => uris.some((one) => uri.startsWith(one))),
    change(next) {
      current = { ...current, ...next };
      for (const list of ['tools', 'resources', 'prompts']) {
        listening.notify(`notifications/${list}/list_changed`, {}, () => true);
      }
    },
    delayResponses(method) {
      const { promise, resolve } = Promise.withResolvers<void>();
      delays.set(method, promise);
      return resolve;
    },
    drop: async () => void (await Promise.all([...peers].map((peer) => peer.close()))),
    async connect(transport) {
      const peer: Peer = new Peer(transport, {
        server: 'Heddle',
        async answer(method, params, { id, signal }) {
          requests.push([method, params]);
          await delays.get(method);
          if (method === 'subscriptions/listen') return listening.listen({ peer, id }, params, signal);
          if (method.endsWith('subscribe')) return listening.subscribe(method, String(params.uri));
          return handleRequest(current, method, params, signal);
        },
      });
      peers.add(peer);
      peer.closed.then(() => peers.delete(peer));
      await peer.start();
    },
  };
}

function handleRequest(options: ResourceServerOptions, method: string, params: JsonObject, signal: AbortSignal): Reply {
  const { era, tools = [], resources = [], templates = [], prompts = [] } = options;
  const capabilities = capabilitiesOf(options);
  const handlers: Record<string, () => Reply> = {
    'tools/list': () => ({ tools }),
    'tools/call': () => ({ content: [] }),
    'resources/list': () => ({ resources }),
    'resources/templates/list': () => ({ resourceTemplates: templates }),
    'resources/read': () => (options.read ?? readIn(options))(String(params.uri), params, signal),
    'prompts/list': () => ({ prompts }),
    'prompts/get': () => options.get?.(params) ?? { messages: [], received: params },
    ping: () => ({}),
    ...(options.complete && { 'completion/complete': () => options.complete?.(params) ?? {} }),
    ...(era === 'modern'
      ? { 'server/discover': () => ({ supportedVersions: [MODERN], capabilities, ttlMs: 0 }) }
      : { initialize: () => ({ protocolVersion: params.protocolVersion ?? '', capabilities, serverInfo: ME }) }),
  };
  const handle = handlers[method];
  if (!handle) throw new RpcError(-32601, `${method} is not supported.`);
  return handle();
}

const readIn =
  ({ resources, templates }: ResourceServerOptions) =>
  (uri: string): JsonObject => {
    if (resources?.some((one) => one.uri === uri) || templates) return textAt(uri, `at ${uri}`);
    throw new RpcError(-32002, 'Resource not found', { uri });
  };

interface Listener {
  readonly peer: Peer;
  readonly id: RequestId;
}

/** Creates the subscriptions of a server. Peers in `always` receive every notification. */
function subscriptions(always: ReadonlySet<Peer>) {
  const subscribedUris = new Set<string>();
  const listens = new Map<Listener, readonly string[]>();
  return {
    subscribedUris,
    subscribe(method: string, uri: string): JsonObject {
      if (method === 'resources/subscribe') subscribedUris.add(uri);
      else subscribedUris.delete(uri);
      return {};
    },
    listen(one: Listener, { notifications }: JsonObject, signal: AbortSignal): Promise<JsonObject> {
      const uris = ((notifications as JsonObject).resourceSubscriptions ?? []) as string[];
      listens.set(one, uris);
      for (const uri of uris) subscribedUris.add(uri);
      const acknowledged = { notifications: notifications ?? {}, _meta: { [TAG]: one.id } };
      void one.peer.notify('notifications/subscriptions/acknowledged', acknowledged);
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          listens.delete(one);
          const left = [...listens.values()].flat();
          for (const uri of uris) if (!left.includes(uri)) subscribedUris.delete(uri);
          resolve({});
        });
      });
    },
    notify(method: string, params: JsonObject, isFor: (uris: readonly string[]) => boolean): void {
      for (const peer of always) void peer.notify(method, params);
      for (const [{ peer, id }, uris] of listens) {
        if (isFor(uris)) void peer.notify(method, { ...params, _meta: { [TAG]: id } });
      }
    },
  };
}

const ME = { name: 'resources', version: '1' };

const capabilitiesOf = ({ resources, templates, prompts, complete }: ResourceServerOptions): JsonObject => ({
  tools: { listChanged: true },
  ...((resources || templates) && { resources: { subscribe: true, listChanged: true } }),
  ...(prompts && { prompts: { listChanged: true } }),
  ...(complete && { completions: {} }),
});
