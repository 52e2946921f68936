import type { JsonObject } from '../../src/core/call.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import type { RequestId } from '../../src/wire/incoming-requests.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { Peer } from '../../src/wire/peer.ts';

type Reply = JsonObject | Promise<JsonObject>;

export interface Readables {
  readonly era?: 'legacy' | 'modern';
  readonly resources?: readonly JsonObject[];
  readonly templates?: readonly JsonObject[];
  readonly prompts?: readonly JsonObject[];
  readonly tools?: readonly JsonObject[];
  /** Without it nothing is completed. */
  readonly complete?: (params: JsonObject) => Reply;
  readonly read?: (uri: string, params: JsonObject, signal: AbortSignal) => Reply;
  readonly get?: (params: JsonObject) => Reply;
}

export interface ReadingServer extends InProcessServer {
  /** What it was asked, in order: method and parameters as they arrived. */
  readonly requests: [string, JsonObject][];
  /** The URIs somebody wants to be told of now. */
  readonly followed: Set<string>;
  /** How often it was asked for something. */
  count(method: string): number;
  /** Says that a resource has changed. */
  update(uri: string): void;
  /** Replaces what it has and says so. */
  change(next: Readables): void;
  /** From now on it does not answer this before the function that comes back is called. */
  hold(method: string): () => void;
  /** Hangs up. */
  drop(): Promise<void>;
}

const MODERN = '2026-07-28';
const TAG = 'io.modelcontextprotocol/subscriptionId';

export const textAt = (uri: string, text: string): JsonObject => ({
  contents: [{ uri, mimeType: 'text/plain', text }],
});

/** A raw server in this process that has things to read, in either era, and writes down what it is asked. */
export function readingServer(given: Readables): ReadingServer {
  const requests: [string, JsonObject][] = [];
  const peers = new Set<Peer>();
  const listening = listeners(given.era === 'modern' ? new Set() : peers);
  const held = new Map<string, Promise<void>>();
  let now = given;

  return {
    requests,
    followed: listening.followed,
    count: (method) => requests.filter(([asked]) => asked === method).length,
    update: (uri) =>
      listening.say('notifications/resources/updated', { uri }, (uris) => uris.some((one) => uri.startsWith(one))),
    change(next) {
      now = { ...now, ...next };
      for (const list of ['tools', 'resources', 'prompts']) {
        listening.say(`notifications/${list}/list_changed`, {}, () => true);
      }
    },
    hold(method) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(method, promise);
      return resolve;
    },
    drop: async () => void (await Promise.all([...peers].map((peer) => peer.close()))),
    async connect(line) {
      const peer: Peer = new Peer(line, {
        server: 'Heddle',
        async answer(method, params, { id, signal }) {
          requests.push([method, params]);
          await held.get(method);
          if (method === 'subscriptions/listen') return listening.listen({ peer, id }, params, signal);
          if (method.endsWith('subscribe')) return listening.follow(method, String(params.uri));
          return answerOf(now, method, params, signal);
        },
      });
      peers.add(peer);
      peer.closed.then(() => peers.delete(peer));
      await peer.start();
    },
  };
}

function answerOf(has: Readables, method: string, params: JsonObject, signal: AbortSignal): Reply {
  const { era, tools = [], resources = [], templates = [], prompts = [] } = has;
  const capabilities = capabilitiesOf(has);
  const answers: Record<string, () => Reply> = {
    'tools/list': () => ({ tools }),
    'tools/call': () => ({ content: [] }),
    'resources/list': () => ({ resources }),
    'resources/templates/list': () => ({ resourceTemplates: templates }),
    'resources/read': () => (has.read ?? readIn(has))(String(params.uri), params, signal),
    'prompts/list': () => ({ prompts }),
    'prompts/get': () => has.get?.(params) ?? { messages: [], asked: params },
    ping: () => ({}),
    ...(has.complete && { 'completion/complete': () => has.complete?.(params) ?? {} }),
    ...(era === 'modern'
      ? { 'server/discover': () => ({ supportedVersions: [MODERN], capabilities, ttlMs: 0 }) }
      : { initialize: () => ({ protocolVersion: params.protocolVersion ?? '', capabilities, serverInfo: ME }) }),
  };
  const answer = answers[method];
  if (!answer) throw new RpcError(-32601, `${method} is not here.`);
  return answer();
}

const readIn =
  ({ resources, templates }: Readables) =>
  (uri: string): JsonObject => {
    if (resources?.some((one) => one.uri === uri) || templates) return textAt(uri, `at ${uri}`);
    throw new RpcError(-32002, 'Resource not found', { uri });
  };

interface Listener {
  readonly peer: Peer;
  readonly id: RequestId;
}

/** Who wants to be told of what; `always` are told everything. */
function listeners(always: ReadonlySet<Peer>) {
  const followed = new Set<string>();
  const listens = new Map<Listener, readonly string[]>();
  return {
    followed,
    follow(method: string, uri: string): JsonObject {
      if (method === 'resources/subscribe') followed.add(uri);
      else followed.delete(uri);
      return {};
    },
    listen(one: Listener, { notifications }: JsonObject, signal: AbortSignal): Promise<JsonObject> {
      const uris = ((notifications as JsonObject).resourceSubscriptions ?? []) as string[];
      listens.set(one, uris);
      for (const uri of uris) followed.add(uri);
      const acknowledged = { notifications: notifications ?? {}, _meta: { [TAG]: one.id } };
      void one.peer.notify('notifications/subscriptions/acknowledged', acknowledged);
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          listens.delete(one);
          const left = [...listens.values()].flat();
          for (const uri of uris) if (!left.includes(uri)) followed.delete(uri);
          resolve({});
        });
      });
    },
    say(method: string, params: JsonObject, isFor: (uris: readonly string[]) => boolean): void {
      for (const peer of always) void peer.notify(method, params);
      for (const [{ peer, id }, uris] of listens) {
        if (isFor(uris)) void peer.notify(method, { ...params, _meta: { [TAG]: id } });
      }
    },
  };
}

const ME = { name: 'reading', version: '1' };

const capabilitiesOf = ({ resources, templates, prompts, complete }: Readables): JsonObject => ({
  tools: { listChanged: true },
  ...((resources || templates) && { resources: { subscribe: true, listChanged: true } }),
  ...(prompts && { prompts: { listChanged: true } }),
  ...(complete && { completions: {} }),
});
