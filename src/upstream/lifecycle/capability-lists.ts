import { isDeepStrictEqual } from 'node:util';
import { capabilitiesKey } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import type { ServerMemory } from '../../store/server-book.ts';

export interface CapabilityListsOptions {
  readonly remembered: readonly ServerMemory[];
  /** Receives the tools that a new connection with these capabilities lists, when they differ from before. */
  readonly onTools: (abilities: number, tools: readonly JsonObject[]) => void;
}

/** A connection that lists tools for a capability set. */
export interface ListingConnection {
  /** Settles when its first lists have arrived or failed. */
  readonly listed: Promise<void>;
  readonly closed: Promise<void>;
  /** True until a call is sent on it: afterwards its lists may be for its user alone. */
  readonly isFresh: () => boolean;
}

/**
 * The tools that one server lists on a new connection, by the capabilities that the connection declares. Tools listed
 * on a connection after a call may be for its user alone, and are not kept here.
 */
export interface CapabilityLists {
  /** Settles when the server has listed them or failed to; undefined when it has yet to be asked. */
  asked(capabilities: ClientCapabilities): Promise<void> | undefined;
  /** Takes a new connection with these capabilities. */
  begin(abilities: number, connection: ListingConnection): void;
  /** Takes the tools of a connection. Where they differ and it is not fresh, a new connection has to list them. */
  take(abilities: number, tools: readonly JsonObject[], isFresh: boolean): void;
  /** Forgets what was asked, since shared tools changed. Keeps fresh connections: the server announces the change there. */
  doubt(): void;
}

interface Listing {
  readonly listed: Promise<void>;
  isKept: () => boolean;
  /** True when the tools known for this capability set are up to date. */
  isCurrent: boolean;
}

export function capabilityLists({ remembered, onTools }: CapabilityListsOptions): CapabilityLists {
  const known = new Map(remembered.map(({ abilities, lists }) => [abilities, lists.tools]));
  const asked = new Map<number, Listing>();
  for (const key of known.keys()) {
    asked.set(key, { listed: Promise.resolve(), isKept: () => false, isCurrent: true });
  }
  return {
    asked: (capabilities) => asked.get(capabilitiesKey(capabilities))?.listed,
    begin(key, { listed, closed, isFresh }) {
      const listing: Listing = { listed, isKept: isFresh, isCurrent: false };
      asked.set(key, listing);
      const forgetUnlessCurrent = () => {
        if (!listing.isCurrent && asked.get(key) === listing) asked.delete(key);
      };
      listed.then(forgetUnlessCurrent);
      closed.then(() => {
        listing.isKept = () => false;
        forgetUnlessCurrent();
      });
    },
    take(key, tools, isFresh) {
      const isNew = !isDeepStrictEqual(known.get(key), tools);
      if (isNew && !isFresh) return void asked.delete(key);
      known.set(key, tools);
      const listing = asked.get(key);
      if (listing) listing.isCurrent = true;
      if (isNew) onTools(key, tools);
    },
    doubt() {
      for (const [key, listing] of asked) {
        listing.isCurrent = false;
        if (!listing.isKept()) asked.delete(key);
      }
    },
  };
}
