import { BoundedMap } from '../../core/bounded-map.ts';
import type { CompleteResult } from '../../core/call/run-to-completion.ts';
import type { DecidedCall, Handler, JsonObject, ResolvedCall, Result, Stage } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { isPublic, readKey } from './read-key.ts';

export interface CacheOptions {
  /** Returns the connection that a call uses, if it may be cached. A result is good only on the connection it came from. */
  readonly connectionOf: (server: string, call: ResolvedCall) => object | undefined;
  /** Tests whether each caller of a server has credentials of its own. A result is then for one principal, always. */
  readonly isPerUser?: (server: string) => boolean;
  readonly clock?: Clock;
  readonly max?: number;
}

export interface ReadCache {
  /** Answers a `resources/read` from the cache while the server's `ttlMs` lasts; passes every other call on. */
  readonly stage: Stage<DecidedCall>;
  /** Drops a resource that changed; without `uri` all resources of the server, without `principal` those of all. */
  invalidate(changed: ChangedResource): void;
}

interface ChangedResource {
  readonly server: string;
  readonly uri?: string;
  readonly principal?: string;
}

interface ResourceKey {
  readonly server: string;
  readonly uri: string;
  /** The principal that the read was for. */
  readonly principal: string;
}

interface CachedRead extends ResourceKey {
  readonly connection: object;
  readonly expiresAt: number;
  readonly result: CompleteResult;
}

interface ReadInFlight extends ResourceKey {
  readonly connection: object | undefined;
  /** The resource changed after the read began, so the result may be older than the change and is not cached. */
  outdated: boolean;
}

const MAX_ENTRIES = 100;
const MAX_CHARS = 1_000_000;
const LONGEST_MS = 24 * 60 * 60_000;

/**
 * Caches resource reads for the `ttlMs` that the server sent, least recently used out first. A result is cached for the
 * principal that read it, unless its `cacheScope` is `public`.
 */
export function readCache(options: CacheOptions): ReadCache {
  const { connectionOf, isPerUser = () => false, clock = steadyClock, max = MAX_ENTRIES } = options;
  const entries = new BoundedMap<string, CachedRead>(max);
  const inFlight = new Set<ReadInFlight>();

  function find(key: string, call: ResolvedCall): Result | undefined {
    const found = entries.get(key);
    if (!found) return undefined;
    const ttlMs = found.expiresAt - clock();
    if (ttlMs <= 0 || connectionOf(found.server, call) !== found.connection) {
      entries.delete(key);
      return undefined;
    }
    entries.set(key, found); // Now the most recently used.
    const { value, provenance } = found.result;
    return {
      ...found.result,
      value: { ...value, ttlMs: Math.floor(ttlMs) }, // The schema of MCP wants an integer.
      provenance: { server: provenance.server, attempts: 0, latencyMs: 0, cached: true },
    };
  }

  /** Returns the read of this principal, or one with `cacheScope: public` if the callers of the server share them. */
  function findFor(call: ResolvedCall): Result | undefined {
    const own = find(readKey(call, 'private'), call);
    return own || isPerUser(call.target.servers[0]) ? own : find(readKey(call, 'public'), call);
  }

  function begin(call: ResolvedCall): ReadInFlight {
    const { target, caller } = call;
    const [server] = target.servers;
    const resource = { server, uri: target.name, principal: caller.id };
    const read = { ...resource, connection: connectionOf(server, call), outdated: false };
    inFlight.add(read);
    return read;
  }

  async function readThrough(call: DecidedCall, next: Handler<DecidedCall>): Promise<Result> {
    if (!connectionOf(call.target.servers[0], call)) return next(call); // Not connected yet, or a private connection.
    const known = findFor(call);
    if (known) return known;
    const read = begin(call);
    const startedAt = clock();
    try {
      const result = await next(call);
      const { server, uri, principal, connection, outdated } = read;
      const ttlMs = result.kind === 'complete' ? ttlOf(result.value) : 0;
      const isCurrent = connection && connection === connectionOf(server, call) && !outdated;
      if (result.kind === 'complete' && ttlMs > 0 && isCurrent) {
        const scope = isPublic(result) && !isPerUser(server) ? 'public' : 'private';
        entries.set(readKey(call, scope), { server, uri, principal, connection, expiresAt: startedAt + ttlMs, result });
      }
      return result;
    } finally {
      inFlight.delete(read);
    }
  }

  return {
    // A result that depends on input responses is not cached.
    stage: function cache(call, next) {
      const isRead = call.kind === 'resource' && !call.continuation && !call.inputResponses;
      return isRead ? readThrough(call, next) : next(call);
    },
    invalidate({ server, uri, principal }) {
      const isAffected = (one: ResourceKey) =>
        one.server === server && (uri ?? one.uri) === one.uri && (principal ?? one.principal) === one.principal;
      for (const [key, entry] of entries) if (isAffected(entry)) entries.delete(key);
      for (const read of inFlight) if (isAffected(read)) read.outdated = true;
    },
  };
}

/** Returns how long a result may be cached: its `ttlMs`, at most a day; 0 without `ttlMs` or above 1 million characters. */
function ttlOf({ ttlMs, contents }: JsonObject): number {
  if (typeof ttlMs !== 'number' || !(ttlMs > 0) || charsOf(contents) > MAX_CHARS) return 0;
  return Math.min(ttlMs, LONGEST_MS);
}

function charsOf(contents: unknown): number {
  if (!Array.isArray(contents)) return Number.POSITIVE_INFINITY;
  const lengths = contents.map((one) => (isObject(one) ? lengthOf(one.text) + lengthOf(one.blob) : 0));
  return lengths.reduce((sum, length) => sum + length, 0);
}

const lengthOf = (value: unknown) => (typeof value === 'string' ? value.length : 0);
