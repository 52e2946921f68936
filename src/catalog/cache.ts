import { isAskable } from '../core/abilities.ts';
import type { Handler, JsonObject, ResolvedCall, Result, Stage } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import { canonicalJson, isObject } from '../core/json.ts';
import { joined } from './joined.ts';

export interface CacheOptions {
  /** The open line to a server: what was read on one is worth nothing on another. */
  readonly lineOf: (server: string) => object | undefined;
  readonly clock?: Clock;
  readonly max?: number;
}

export interface ReadCache {
  /** Answers reads from what the server said before, as long as it said that it stays good; everything else passes. */
  readonly stage: Stage<ResolvedCall>;
  /** A resource of a server is other than before; all of them when none is named. */
  forget(server: string, uri?: string): void;
}

type Complete = Extract<Result, { readonly kind: 'complete' }>;

interface Kept {
  readonly server: string;
  readonly uri: string;
  readonly line: object;
  readonly until: number;
  readonly result: Complete;
}

/** A read under way. */
interface Reading {
  readonly server: string;
  readonly uri: string;
  /** What it reads may be of before a change. */
  outdated: boolean;
}

const MAX_KEPT = 100;
const MAX_KEPT_CHARS = 1_000_000;
const LONGEST_MS = 24 * 60 * 60_000;
const TRACING = new Set(['traceparent', 'tracestate', 'baggage']);

/**
 * Keeps what servers allow to be kept, the last used the longest. What is not
 * said to be `public` is kept for the principal who read it, and nobody else.
 * Reads of the same by the same at the same time are one.
 */
export function readCache({ lineOf, clock = Date.now, max = MAX_KEPT }: CacheOptions): ReadCache {
  const kept = new Map<string, Kept>(); // In order of last use.
  const readings = new Set<Reading>();
  const flights = joined<Result>();

  function find(key: string): Result | undefined {
    const found = kept.get(key);
    if (!found) return undefined;
    kept.delete(key);
    const leftMs = found.until - clock();
    if (leftMs <= 0 || lineOf(found.server) !== found.line) return undefined;
    kept.set(key, found);
    const { value, from } = found.result;
    const provenance = { server: from.server, attempts: 0, latencyMs: 0, cached: true } as const;
    return { ...found.result, value: { ...value, ttlMs: leftMs }, from: provenance };
  }

  function keep(call: ResolvedCall, result: Result, { server, uri, startedAt }: Pick<Kept, 'server' | 'uri'> & { startedAt: number }) {
    const ttlMs = lifeOf(result);
    const line = lineOf(server);
    if (result.kind !== 'complete' || ttlMs === 0 || !line) return;
    kept.set(keyOf(call, isPublic(result)), { server, uri, line, until: startedAt + ttlMs, result });
    if (kept.size > max) kept.delete(kept.keys().next().value as string);
  }

  async function read(call: ResolvedCall, next: Handler<ResolvedCall>): Promise<Result> {
    const { servers: [server], name: uri } = call.target;
    const reading: Reading = { server, uri, outdated: false };
    const startedAt = clock();
    readings.add(reading);
    try {
      const result = await next(call);
      if (!reading.outdated) keep(call, result, { server, uri, startedAt });
      return result;
    } finally {
      readings.delete(reading);
    }
  }

  function forget(server: string, uri?: string): void {
    const isMeant = (one: Pick<Kept, 'server' | 'uri'>) => one.server === server && (uri === undefined || one.uri === uri);
    for (const [key, one] of kept) if (isMeant(one)) kept.delete(key);
    outdate(isMeant);
  }

  function outdate(isMeant: (one: Reading) => boolean): void {
    for (const reading of readings) if (isMeant(reading)) reading.outdated = true;
    ...
  }
}
