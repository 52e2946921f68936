import { onTestFinished } from 'vitest';
import { serverEntry } from '../config/schema/server-schema.ts';
import type { JsonObject, ResolvedCall } from '../core/call.ts';
import type { ServerEvent } from '../core/records/server-status.ts';
import type { Time } from '../core/time.ts';
import type { CachedServer, ServerBook } from '../store/server-book.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { METHOD_NOT_FOUND } from '../wire/mcp.ts';
import { Peer } from '../wire/peer.ts';
import type { Connect, ConnectOptions, ListKind } from './connection.ts';
import type { ServerPlan } from './lifecycle/plan-server.ts';
import { Server } from './lifecycle/server.ts';
import { openServerCache } from './lifecycle/server-cache.ts';
import type { ServerOptions } from './lifecycle/server-options.ts';
import { serverSubscriptions } from './lifecycle/subscriptions.ts';
import { connectInMemory, type Serve } from './transports/connect-in-memory.ts';

export type TinyAnswer = (params: JsonObject) => JsonObject | Promise<JsonObject>;

export interface TinyServer {
  readonly serve: Serve;
  /** The methods of the requests received, in order, over all transports. */
  readonly requests: string[];
  /** The notifications received: method and params. */
  readonly notifications: [string, JsonObject][];
  /** The server's end of each transport, in the order of their opening. */
  readonly transports: Peer[];
}

export const HELLO: JsonObject = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'tiny', version: '1' },
};

/** Creates an in-process server that answers by method. Other methods get `METHOD_NOT_FOUND`. */
export function tinyServer(answers: Readonly<Record<string, TinyAnswer>> = {}): TinyServer {
  const all: Readonly<Record<string, TinyAnswer>> = {
    initialize: () => HELLO,
    'tools/list': () => ({ tools: [] }),
    ...answers,
  };
  const requests: string[] = [];
  const transports: Peer[] = [];
  const notifications: [string, JsonObject][] = [];
  return {
    requests,
    notifications,
    transports,
    async serve(transport) {
      const peer = new Peer(transport, {
        server: 'Heddle',
        onNotification: (method, params) => notifications.push([method, params]),
        async answer(method, params) {
          requests.push(method);
          const answer = all[method];
          if (!answer) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
          return answer(params);
        },
      });
      transports.push(peer);
      await peer.start();
    },
  };
}

/** Returns a promise that stays pending: a server that does not answer. */
export const never = (): Promise<JsonObject> => new Promise(() => {});

export function toolCall(name: string, input: JsonObject = {}, more: Partial<ResolvedCall> = {}): ResolvedCall {
  const facts = { category: 'x', riskLevel: 'low', readOnly: true, destructive: false, idempotent: true } as const;
  return {
    id: 'call-1',
    kind: 'tool',
    name,
    input,
    meta: {},
    caller: { id: 'someone', roles: ['user'], via: 'library' },
    options: {},
    signal: new AbortController().signal,
    target: {
      kind: 'tool',
      publicName: name,
      servers: ['demo'],
      name,
      definition: { name },
      digest: '',
      facts: { ...facts, concurrent: true, openWorld: false, requiresApproval: false, builtin: false },
      flags: [],
    },
    ...more,
  };
}

/** Parses a server entry and adds its defaults, as the configuration does. */
export const entryOf = <T>(written: JsonObject): T => serverEntry.parse(written) as T;

export interface MemoryBook extends ServerBook {
  readonly saved: CachedServer[];
}

/** Creates a server book that keeps its entries in memory. */
export function memoryBook(): MemoryBook {
  const saved: CachedServer[] = [];
  return { saved, all: async () => saved, remember: async (entry) => void saved.push(entry), forget: async () => {} };
}

/** A clock and timers that only `pass` moves on. */
export interface FakeTime extends Time {
  pass(ms: number): void;
  /** Returns the number of pending timers. */
  timers(): number;
}

export function fakeTime(start = 1_000_000): FakeTime {
  let now = start;
  const pending = new Set<{ readonly at: number; readonly callback: () => void }>();
  const nextBefore = (end: number) => [...pending].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  return {
    clock: () => now,
    random: () => 0.5,
    timer(delayMs, callback) {
      const timer = { at: now + delayMs, callback };
      pending.add(timer);
      return () => void pending.delete(timer);
    },
    timers: () => pending.size,
    pass(ms) {
      const end = now + ms;
      for (let next = nextBefore(end); next; next = nextBefore(end)) {
        pending.delete(next);
        now = Math.max(now, next.at);
        next.callback();
      }
      now = end;
    },
  };
}

/** Returns a server plan with defaults. A test gives `connect` and the members that it checks. */
export const planOf = (plan: Partial<ServerPlan> & Pick<ServerPlan, 'connect'>): ServerPlan => ({
  name: 'demo',
  scope: 'project',
  transport: 'stdio',
  sandbox: 'none',
  credentials: 'none',
  signature: 'sig',
  revision: '1',
  local: true,
  autoConnect: false,
  reconnect: { maxAttempts: 3, delayMs: 5000 },
  health: { intervalMs: 30_000, misses: 2 },
  connectTimeoutMs: 15_000,
  ...plan,
});

interface Setting extends Partial<Omit<ServerOptions, 'plan' | 'time'>> {
  readonly connect?: Connect;
  readonly plan?: Partial<ServerPlan>;
  /** The entries that the cache has at the start. */
  readonly saved?: readonly CachedServer[];
  /** The time of the clock at the start. */
  readonly start?: number;
}

/**
 * Creates a `Server` that connects to the tiny server, or by `connect` if given, and records its callbacks.
 * Closes it when the test ends.
 */
export function serverOf(tiny: TinyServer, { connect, plan, start, saved = [], ...more }: Setting = {}) {
  const attempts: ConnectOptions[] = [];
  const events: ServerEvent[] = [];
  const lists: [ListKind, readonly JsonObject[]][] = [];
  const notes: string[] = [];
  const written: CachedServer[] = [];
  const open = connect ?? connectInMemory(tiny.serve);
  const time = fakeTime(start);
  const server = new Server({
    plan: planOf({
      connect(options) {
        attempts.push(options);
        return open(options);
      },
      ...plan,
    }),
    cache: openServerCache({
      saved,
      book: { remember: async (entry) => void written.push(entry), forget: async () => {} },
    }),
    limited: (task) => task(),
    subscriptions: serverSubscriptions(() => {}),
    user: undefined,
    time,
    onStatus: (_, event) => events.push(event),
    onList: (kind, items) => lists.push([kind, items]),
    onCapabilityTools() {},
    onPrivateList() {},
    onPrivateEnd() {},
    onSignInNeeded() {},
    onNotification: (method) => notes.push(method),
    ...more,
  });
  onTestFinished(() => server.close());
  return { server, attempts, events, lists, notes, saved: written, time };
}
