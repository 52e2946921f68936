import { BoundedMap } from '../../core/bounded-map.ts';
import type { HeddleError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { CachedServer, FailureBook, ServerBook, ServerFailure } from '../../store/server-book.ts';
import type { ServerPlan } from './plan-server.ts';

type CachedPlan = Pick<ServerPlan, 'name' | 'signature'>;

export interface ServerCacheOptions {
  /** The entries that the store had at the start. */
  readonly saved: readonly CachedServer[];
  readonly book: Pick<ServerBook, 'remember' | 'forget'>;
  /** The capability set that shared connections declare, as `capabilitiesKey` encodes it; 0 unless given. */
  readonly sharedSet?: number;
  /** Without it failures are neither stored nor shown. */
  readonly failures?: FailureOptions;
}

export interface FailureOptions {
  /** The failures that the store had at the start, of all processes. */
  readonly saved: readonly ServerFailure[];
  readonly book: Pick<FailureBook, 'put' | 'remove'>;
  /** The age up to which a failure of an earlier process is shown; 0 shows none. */
  readonly shownMs: number;
  readonly clock: Clock;
}

/** The last known definitions of all servers, by server and capability set. In memory and in the store. */
export interface ServerCache {
  /** The capability set that shared connections declare. */
  readonly sharedSet: number;
  /** Returns the entry of the shared connection; if there is none, the entry without capabilities. */
  shared(server: CachedPlan): CachedServer | undefined;
  /** Returns the lists to begin with: those of the shared connection, else those of the newest entry. */
  lists(server: CachedPlan): CachedServer['lists'] | undefined;
  /** Returns the newest entry of any capability set: the transport does not depend on it. */
  newest(server: CachedPlan): CachedServer | undefined;
  /** Returns the entries of private connections with capabilities; none if the shared connection declares some. */
  withCapabilities(server: CachedPlan): readonly CachedServer[];
  /** Tests whether the tools are cached that clients with these capabilities see; true if nothing is, and they have none. */
  has(server: CachedPlan, capabilitySet: number): boolean;
  /** Replaces the entry of the same server and capability set. */
  put(entry: CachedServer): void;
  /** Removes the entry of a capability set. */
  forget(server: CachedPlan, capabilitySet: number): void;
  /** Returns the failure of an earlier process that is still shown. */
  failure(server: CachedPlan): ServerFailure | undefined;
  putFailure(server: CachedPlan, error: HeddleError): void;
  /** Forgets the failure of a server that has connected, also one that another process stored meanwhile. */
  removeFailure(server: CachedPlan): void;
}

/** Opens the cache. An entry counts only for a plan with its signature: another command or URL is another server. */
export function openServerCache({ saved, book, sharedSet = 0, failures }: ServerCacheOptions): ServerCache {
  const entries = new Map<string, Map<number, CachedServer>>();

  function add(entry: CachedServer): void {
    const own = entries.get(entry.server) ?? new Map<number, CachedServer>();
    entries.set(entry.server, own.set(entry.capabilitySet, entry));
  }

  const entriesOf = ({ name, signature }: CachedPlan) =>
    [...(entries.get(name)?.values() ?? [])].filter((entry) => entry.signature === signature);

  for (const entry of saved) add(entry);
  const shared = (server: CachedPlan) => {
    const found = entriesOf(server);
    return found.find((one) => one.capabilitySet === sharedSet) ?? found.find((one) => one.capabilitySet === 0);
  };
  const newest = (server: CachedPlan) => entriesOf(server).toSorted((a, b) => b.at - a.at)[0];
  return {
    ...failureCache(failures),
    sharedSet,
    shared,
    newest,
    lists: (server) => (shared(server) ?? newest(server))?.lists,
    put(entry) {
      add(entry);
      // A lost entry costs one more probe and list: that must not fail a connect.
      book.remember(entry).catch(() => {});
    },
    forget({ name }, capabilitySet) {
      entries.get(name)?.delete(capabilitySet);
      // An entry that stays is removed after the next start.
      book.forget({ server: name, capabilitySet }).catch(() => {});
    },
    has(server, capabilitySet) {
      // A sole user with capabilities declares them on the shared connections.
      const wanted = sharedSet === 0 ? capabilitySet : sharedSet;
      // The shared connection of a modern server lists all tools.
      const isListed = (one: CachedServer) => one.capabilitySet === wanted || (sharedSet === 0 && one.era === 'modern');
      const found = entriesOf(server);
      return found.some(isListed) || (wanted === 0 && found.length === 0);
    },
    withCapabilities: (server) => (sharedSet === 0 ? entriesOf(server).filter((one) => one.capabilitySet !== 0) : []),
  };
}

// A server whose entry changes has another key each time.
const MAX_FAILURES = 1000;

type FailureCache = Pick<ServerCache, 'failure' | 'putFailure' | 'removeFailure'>;

function failureCache(options: FailureOptions | undefined): FailureCache {
  if (!options) return { failure: () => undefined, putFailure: () => {}, removeFailure: () => {} };
  const { saved, book, shownMs, clock } = options;
  const keyOf = ({ name, signature }: CachedPlan) => JSON.stringify([name, signature]);
  const failures = new BoundedMap<string, ServerFailure>(MAX_FAILURES);
  for (const one of saved) failures.set(keyOf({ name: one.server, signature: one.signature }), one);
  return {
    failure(server) {
      const found = failures.get(keyOf(server));
      const age = found ? clock() - found.at : Number.POSITIVE_INFINITY;
      return age >= 0 && age < shownMs ? found : undefined;
    },
    putFailure(server, { code, message, fix }) {
      const failure = { server: server.name, signature: server.signature, at: clock(), code, message, fix };
      failures.set(keyOf(server), failure);
      // A lost record costs one more attempt.
      book.put(failure).catch(() => {});
    },
    removeFailure(server) {
      failures.delete(keyOf(server));
      book.remove({ server: server.name, signature: server.signature }).catch(() => {});
    },
  };
}
