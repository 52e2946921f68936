import { isDeepStrictEqual } from 'node:util';
import { capabilitiesKey, hasExtensions } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import type { CachedServer } from '../../store/server-book.ts';

export interface CapabilityListsOptions {
  readonly cached: readonly CachedServer[];
  /** Receives the tools that a new connection with these capabilities lists, when they differ from before. */
  readonly onTools: (capabilitySet: number, tools: readonly JsonObject[]) => void;
  /** Receives a capability set with extensions whose tools are forgotten, because eight others were used since. */
  readonly onForgotten: (capabilitySet: number) => void;
}

/** The most capability sets with extensions of one server: a client chooses the settings of its extensions. */
const MAX_EXTENSION_SETS = 8;

/** A connection that lists tools for a capability set. */
export interface ListingConnection {
  /** Settles when its first lists have arrived or failed. */
  readonly listed: Promise<void>;
  readonly closed: Promise<void>;
  /** True until a call is sent on it: afterwards its lists may be for its user alone. */
  readonly isFresh: () => boolean;
  /** True when it closed because the server no longer knew the session: the server may list other tools now. */
  readonly hasLostSession: () => boolean;
}

/**
 * The tools that one server lists on a new connection, by the capabilities that the connection declares. Tools listed
 * on a connection after a call may be for its user alone, and are not kept here.
 */
export interface CapabilityLists {
  /** Settles when the server has listed them or failed to; undefined when no connection has listed them yet. */
  listed(capabilities: ClientCapabilities): Promise<void> | undefined;
  /** Returns the tools that a connection with these capabilities has listed; undefined when none has. */
  toolsFor(capabilities: ClientCapabilities): readonly JsonObject[] | undefined;
  /** Takes a new connection with these capabilities. */
  begin(capabilitySet: number, connection: ListingConnection): void;
  /** Takes the tools of a connection. If they differ and it is not fresh, a new connection has to list them. */
  take(capabilitySet: number, tools: readonly JsonObject[], isFresh: boolean): void;
  /** Invalidates all lists, since shared tools changed. Keeps fresh connections: the server announces the change there. */
  invalidate(): void;
  /** Returns the lists of all capability sets. */
  all(): Iterable<readonly JsonObject[]>;
}

interface Listing {
  readonly listed: Promise<void>;
  isKept: () => boolean;
  /** True when the tools known for this capability set are up to date. */
  isCurrent: boolean;
}

export function capabilityLists({ cached, onTools, onForgotten }: CapabilityListsOptions): CapabilityLists {
  const known = new Map(cached.map(({ capabilitySet, lists }) => [capabilitySet, lists.tools]));
  const listings = new Map<number, Listing>();
  for (const key of known.keys()) {
    listings.set(key, { listed: Promise.resolve(), isKept: () => false, isCurrent: true });
  }
  // In order of last use.
  const withExtensions = new Set<number>();

  function use(key: number): void {
    if (!hasExtensions(key)) return;
    withExtensions.delete(key);
    withExtensions.add(key);
    const [oldest] = withExtensions;
    if (oldest === undefined || withExtensions.size <= MAX_EXTENSION_SETS) return;
    for (const one of [withExtensions, known, listings]) one.delete(oldest);
    onForgotten(oldest);
  }

  for (const { capabilitySet } of cached.toSorted((a, b) => a.at - b.at)) use(capabilitySet);
  return {
    listed(capabilities) {
      const key = capabilitiesKey(capabilities);
      const listing = listings.get(key);
      if (listing) use(key);
      return listing?.listed;
    },
    toolsFor: (capabilities) => known.get(capabilitiesKey(capabilities)),
    begin(key, { listed, closed, isFresh, hasLostSession }) {
      const listing: Listing = { listed, isKept: isFresh, isCurrent: false };
      listings.set(key, listing);
      use(key);
      const forgetUnlessCurrent = () => {
        if (!listing.isCurrent && listings.get(key) === listing) listings.delete(key);
      };
      listed.then(forgetUnlessCurrent);
      closed.then(() => {
        listing.isKept = () => false;
        if (hasLostSession()) listing.isCurrent = false;
        forgetUnlessCurrent();
      });
    },
    take(key, tools, isFresh) {
      const isNew = !isDeepStrictEqual(known.get(key), tools);
      if (isNew && !isFresh) return void listings.delete(key);
      known.set(key, tools);
      use(key);
      const listing = listings.get(key);
      if (listing) listing.isCurrent = true;
      if (isNew) onTools(key, tools);
    },
    invalidate() {
      for (const [key, listing] of listings) {
        listing.isCurrent = false;
        if (!listing.isKept()) listings.delete(key);
      }
    },
    all: () => known.values(),
  };
}
