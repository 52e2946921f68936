import { serverEntry } from '../config/server-schema.ts';
import type { JsonObject, ResolvedCall } from '../core/call.ts';
import type { ServerBook, ServerMemory } from '../store/server-book.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { Peer } from '../wire/peer.ts';
import type { Serve } from './connect-in-memory.ts';

export type Answer = (params: JsonObject) => JsonObject | Promise<JsonObject>;

export interface TinyServer {
  readonly serve: Serve;
  /** The methods it was asked, in order, over all lines. */
  readonly asked: string[];
  /** Its end of every line it was ever given. */
  readonly lines: Peer[];
}

export const HELLO: JsonObject = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'tiny', version: '1' },
};

/** A server in this process that answers by method, and refuses what it does not know as old servers do. */
export function tinyServer(answers: Readonly<Record<string, Answer>> = {}): TinyServer {
  const all: Readonly<Record<string, Answer>> = {
    initialize: () => HELLO,
    'tools/list': () => ({ tools: [] }),
    ...answers,
  };
  const asked: string[] = [];
  const lines: Peer[] = [];
  return {
    asked,
    lines,
    async serve(line) {
      const peer = new Peer(line, {
        server: 'Heddle',
        async answer(method, params) {
          asked.push(method);
          const answer = all[method];
          if (!answer) throw new RpcError(-32601, `${method} is not here.`);
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
      publicName: name,
      servers: ['demo'],
      name,
      definition: { name },
      digest: '',
      facts: { ...facts, requiresApproval: false, builtin: false },
    },
    ...more,
  };
}

/** A checked entry with its defaults, as configuration gives it. */
export const entryOf = <T>(written: JsonObject): T => serverEntry.parse(written) as T;

export interface MemoryBook extends ServerBook {
  readonly memories: ServerMemory[];
}

/** What a server book holds while the test runs. */
export function memoryBook(): MemoryBook {
  const memories: ServerMemory[] = [];
  return { memories, all: async () => memories, remember: async (memory) => void memories.push(memory) };
}
