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
  /** The methods it was asked, in order, over all lines. */
  readonly asked: string[];
  /** The notifications it was sent. */
  readonly heard: [string, JsonObject][];
  /** Its end of every line it was ever given. */
  readonly lines: Peer[];
}

export const HELLO: JsonObject = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'tiny', version: '1' },
};

/** A server in this process that answers by method, and refuses what it does not know as old servers do. */
export function tinyServer(answers: Readonly<Record<string, TinyAnswer>> = {}): TinyServer {
  const all: Readonly<Record<string, TinyAnswer>> = {
    initialize: () => HELLO,
    'tools/list': () => ({ tools: [] }),
    ...answers,
  };
  const asked: string[] = [];
  const lines: Peer[] = [];
  const heard: [string, JsonObject][] = [];
  return {
    asked,
    heard,
    lines,
    async serve(line) {
      const peer = new Peer(line, {
        server: 'Heddle',
        onNotification: (method, params) => heard.push([method, params]),
        async answer(method, params) {
          asked.push(method);
          const answer = all[method];
          if (!answer) throw new RpcError(METHOD_NOT_FOUND, `${method} is not here.`);
          return answer(params);
        },
      });
      lines.push(peer);
      await peer.start();
    },
  };
}

/** An answer that never comes. */
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

/** A checked entry with its defaults, as configuration gives it. */
export const entryOf = <T>(written: JsonObject): T => serverEntry.parse(written) as T;

export interface MemoryBook extends ServerBook {
  readonly memories: CachedServer[];
}

/** Returns a server book in memory. */
export function memoryBook(): MemoryBook {
  const memories: CachedServer[] = [];
  return { memories, all: async () => memories, remember: async (memory) => void memories.push(memory) };
}

/** Time that passes when the test says so. */
export interface FakeTime extends Time {
  pass(ms: number): void;
  /** How many alarms are set. */
  timers(): number;
}

export function fakeTime(start = 1_000_000): FakeTime {
  let now = start;
  const set = new Set<{ readonly at: number; readonly ring: () => void }>();
  const nextBefore = (end: number) => [...set].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  return {
    clock: () => now,
    random: () => 0.5,
    timer(delayMs, ring) {
      const alarm = { at: now + delayMs, ring };
      set.add(alarm);
      return () => void set.delete(alarm);
    },
    timers: () => set.size,
    pass(ms) {
      const end = now + ms;
      for (let next = nextBefore(end); next; next = nextBefore(end)) {
        set.delete(next);
        now = Math.max(now, next.at);
        next.ring();
      }
      now = end;
    },
  };
}

/** The plan of a server; say only how it is reached, and what your test is about. */
export const planOf = (plan: Partial<ServerPlan> & Pick<ServerPlan, 'connect'>): ServerPlan => ({
  name: 'demo',
  scope: 'project',
  transport: 'stdio',
  sandbox: 'none',
  signature: 'sig',
  revision: '1',
  local: true,
  autoConnect: false,
  reconnect: { maxAttempts: 3, delayMs: 5000 },
  connectTimeoutMs: 15_000,
  ...plan,
});

interface Setting extends Partial<Omit<ServerOptions, 'plan' | 'time'>> {
  readonly connect?: Connect;
  readonly plan?: Partial<ServerPlan>;
  /** The entries that the cache has at the start. */
  readonly saved?: readonly CachedServer[];
  /** The initial time of the clock. */
  readonly start?: number;
}

/** A server over the tiny one, or whatever `connect` is given, with all it tells. Closed when the test ends. */
export function serverOf(tiny: TinyServer, { connect, plan, start, saved = [], ...more }: Setting = {}) {
  const asked: ConnectOptions[] = [];
  const events: ServerEvent[] = [];
  const lists: [ListKind, readonly JsonObject[]][] = [];
  const notes: string[] = [];
  const memories: CachedServer[] = [];
  const reach = connect ?? connectInMemory(tiny.serve);
  const time = fakeTime(start);
  const server = new Server({
    plan: planOf({
      connect(options) {
        asked.push(options);
        return reach(options);
      },
      ...plan,
    }),
    cache: openServerCache({ saved, book: { remember: async (entry) => void memories.push(entry) } }),
    limited: (task) => task(),
    subscriptions: serverSubscriptions(() => {}),
    user: undefined,
    time,
    onStatus: (_, event) => events.push(event),
    onList: (kind, items) => lists.push([kind, items]),
    onCapabilityTools() {},
    onPrivateList() {},
    onPrivateEnd() {},
    onNotification: (method) => notes.push(method),
    ...more,
  });
  onTestFinished(() => server.close());
  return { server, asked, events, lists, notes, memories, time };
}
