import { createHash } from 'node:crypto';
import { callerKey, type PrivateUser, userKey } from '../../core/call/private-user.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import type { ListKind } from '../../upstream/connection.ts';
import type { Catalog } from '../catalog.ts';
import type { EntryLists } from './entry-lists.ts';
import type { Owner } from './facts.ts';

/** A list that the private connection of a user has sent. */
export interface PrivateListing {
  readonly server: string;
  readonly user: PrivateUser;
  readonly kind: ListKind;
  readonly items: readonly JsonObject[];
}

export interface PrivateViewsOptions {
  readonly parts: EntryLists;
  readonly ownerOf: (server: string) => Owner | undefined;
  /** The list of a server that clients with these capabilities see without a private connection. */
  readonly shared: (server: string, kind: ListKind, capabilities: number) => readonly JsonObject[];
  readonly onChange: (kind: ListKind, user: PrivateUser) => void;
}

interface View {
  readonly user: PrivateUser;
  readonly servers: Map<string, Map<ListKind, readonly JsonObject[]>>;
  /** The catalog made of these lists, and the shared one it was made from. */
  made: { readonly from: Catalog; readonly catalog: Catalog } | undefined;
}

/** The catalogs of users with private connections: their own lists take the place of the shared ones. */
export interface PrivateViews {
  /** Returns the catalog of a caller; the shared one if all lists are the same. */
  of(caller: Caller): Catalog;
  put(listing: PrivateListing): void;
  /** Forgets the lists of a private connection that is gone. */
  end(server: string, user: PrivateUser): void;
  /** Forgets a server for all users. */
  forget(server: string): void;
}

export function privateViews({ parts, ownerOf, shared, onChange }: PrivateViewsOptions): PrivateViews {
  const views = new Map<string, View>();

  function make({ user, servers }: View): Catalog {
    let own: EntryLists | undefined;
    for (const [server, lists] of servers) {
      const owner = ownerOf(server);
      for (const [kind, items] of lists) {
        if (!owner || isSame(items, shared(server, kind, user.capabilitySet))) continue;
        own ??= parts.copy();
        if (kind === 'tools') own.putCapabilityEntries(server, []);
        own.put(server, { kind, items, owner });
      }
    }
    return own?.catalog() ?? parts.catalog();
  }

  function viewOf(user: PrivateUser): View {
    const key = userKey(user);
    const view = views.get(key) ?? { user, servers: new Map(), made: undefined };
    views.set(key, view);
    return view;
  }

  return {
    of(caller) {
      const from = parts.catalog();
      const view = views.size === 0 ? undefined : views.get(callerKey(caller, caller.capabilities));
      if (!view) return from;
      if (view.made?.from !== from) view.made = { from, catalog: make(view) };
      return view.made.catalog;
    },
    put({ server, user, kind, items }) {
      if (!ownerOf(server)) return;
      const view = viewOf(user);
      const lists = view.servers.get(server) ?? new Map<ListKind, readonly JsonObject[]>();
      const before = lists.get(kind) ?? shared(server, kind, user.capabilitySet);
      view.servers.set(server, lists.set(kind, items));
      view.made = undefined;
      if (!isSame(before, items)) onChange(kind, user);
    },
    end(server, user) {
      const view = views.get(userKey(user));
      const lists = view?.servers.get(server);
      if (!view || !lists) return;
      view.servers.delete(server);
      view.made = undefined;
      if (view.servers.size === 0) views.delete(userKey(user));
      for (const [kind, items] of lists) {
        if (!isSame(items, shared(server, kind, user.capabilitySet))) onChange(kind, user);
      }
    },
    forget(server) {
      for (const [key, view] of views) {
        if (!view.servers.delete(server)) continue;
        view.made = undefined;
        if (view.servers.size === 0) views.delete(key);
      }
    },
  };
}

/** Compares two lists without their order. */
function isSame(some: readonly JsonObject[], others: readonly JsonObject[]): boolean {
  if (some === others) return true;
  if (some.length !== others.length) return false;
  const wanted = others.map(digestOf).sort();
  return some
    .map(digestOf)
    .sort()
    .every((digest, index) => digest === wanted[index]);
}

// Lists are compared again after each shared change, and their items stay the same objects.
const digests = new WeakMap<JsonObject, string>();

function digestOf(item: JsonObject): string {
  const digest = digests.get(item) ?? createHash('sha256').update(canonicalJson(item)).digest('base64url');
  digests.set(item, digest);
  return digest;
}
