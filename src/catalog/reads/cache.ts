import { BoundedMap } from '../../core/bounded-map.ts';
import type { Handler, JsonObject, ResolvedCall, Result, Stage } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { isPublic, readKey } from './read-key.ts';

export interface CacheOptions {
  /** The shared connection to a server, if the call uses it: what was read on one is worth nothing on the next. */
  readonly lineOf: (server: string, call: ResolvedCall) => object | undefined;
  readonly clock?: Clock;
  readonly max?: number;
}

export interface ReadCache {
  /** Answers reads with what the server said before, as long as it said that it stays good; everything else passes. */
  readonly stage: Stage<ResolvedCall>;
  /** A resource of a server is other than before; any of them, when none is named. */
  forget(server: string, uri?: string): void;
}

type Complete = Extract<Result, { readonly kind: 'complete' }>;

interface Place {
  readonly server: string;
  readonly uri: string;
}

interface Kept extends Place {
  readonly line: object;
  readonly until: number;
  readonly result: Complete;
}

/** A read under way. */
interface Reading extends Place {
  readonly line: object | undefined;
  /** What comes of it may be of before a change. */
  outdated: boolean;
}

const MAX_KEPT = 100;
const MAX_CHARS = 1_000_000;
const LONGEST_MS = 24 * 60 * 60_000;

/**
 * Keeps what servers allow to be kept, the last used the longest. What is not
 * said to be `public` is kept for the principal who read it, and nobody else.
 */
export function readCache({ lineOf, clock = steadyClock, max = MAX_KEPT }: CacheOptions): ReadCache {
  const kept = new BoundedMap<string, Kept>(max); // In order of last use.
  const readings = new Set<Reading>();

  function find(key: string, call: ResolvedCall): Result | undefined {
    const found = kept.get(key);
    if (!found) return undefined;
    kept.delete(key);
    const ttlMs = found.until - clock();
    if (ttlMs <= 0 || lineOf(found.server, call) !== found.line) return undefined;
    kept.set(key, found);
    const { value, provenance } = found.result;
    return {
      ...found.result,
      value: { ...value, ttlMs },
      provenance: { server: provenance.server, attempts: 0, latencyMs: 0, cached: true },
    };
  }

  function begin(call: ResolvedCall): Reading {
    const { target } = call;
    const [server] = target.servers;
    const reading = { server, uri: target.name, line: lineOf(server, call), outdated: false };
    readings.add(reading);
    return reading;
  }

  async function read(call: ResolvedCall, next: Handler<ResolvedCall>): Promise<Result> {
    if (!lineOf(call.target.servers[0], call)) return next(call); // Not open yet, or private to its user.
    const known = find(readKey(call, 'private'), call) ?? find(readKey(call, 'public'), call);
    if (known) return known;
    const reading = begin(call);
    const startedAt = clock();
    try {
      const result = await next(call);
      const { server, uri, line, outdated } = reading;
      const ttlMs = result.kind === 'complete' ? lifeOf(result.value) : 0;
      if (result.kind === 'complete' && ttlMs > 0 && line && line === lineOf(server, call) && !outdated) {
        const scope = isPublic(result) ? 'public' : 'private';
        kept.set(readKey(call, scope), { server, uri, line, until: startedAt + ttlMs, result });
      }
      return result;
    } finally {
      readings.delete(reading);
    }
  }

  return {
    // What an answer of the user has led to is the answer to that alone.
    stage: (call, next) =>
      call.kind === 'resource' && !call.continuation && !call.inputResponses ? read(call, next) : next(call),
    forget(server, uri) {
      const isMeant = (one: Place) => one.server === server && (uri === undefined || one.uri === uri);
      for (const [key, one] of kept) if (isMeant(one)) kept.delete(key);
      for (const reading of readings) if (isMeant(reading)) reading.outdated = true;
    },
  };
}

/** For how long a result stays good; not at all where nothing is said, or where there is too much of it. */
function lifeOf({ ttlMs, contents }: JsonObject): number {
  if (typeof ttlMs !== 'number' || !(ttlMs > 0) || charsOf(contents) > MAX_CHARS) return 0;
  return Math.min(ttlMs, LONGEST_MS);
}

function charsOf(contents: unknown): number {
  if (!Array.isArray(contents)) return Number.POSITIVE_INFINITY;
  const lengths = contents.map((one) => (isObject(one) ? lengthOf(one.text) + lengthOf(one.blob) : 0));
  return lengths.reduce((sum, length) => sum + length, 0);
}

const lengthOf = (value: unknown) => (typeof value === 'string' ? value.length : 0);
