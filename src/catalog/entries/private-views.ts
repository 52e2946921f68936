import { createHash } from 'node:crypto';
import { BoundedMap } from '../../core/bounded-map.ts';
import { callerKey, type PrivateUser, userKey } from '../../core/call/private-user.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import type { ListKind } from '../../upstream/connection.ts';
import type { Catalog } from '../catalog.ts';
import type { EntryLists } from './entry-lists.ts';
import type { Owner } from './facts.ts';
import { isSignInList, SIGN_IN_OWNER, signInTool } from './sign-in-tool.ts';

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

type UserLists = ReadonlyMap<ListKind, readonly JsonObject[]>;

interface View {
  readonly user: PrivateUser;
  readonly servers: Map<string, UserLists>;
  /** The catalog made of these lists, and the shared one it was made from. */
  made: { readonly from: Catalog; readonly catalog: Catalog } | undefined;
}

/** The catalogs of users with private connections: their own lists take the place of the shared ones. */
export interface PrivateViews {
  /** Returns the catalog of a caller; the shared one if all lists are the same. */
  of(caller: Caller): Catalog;
  put(listing: PrivateListing): void;
  /** Replaces all lists of a user at a server by the tool for signing in. */
  requireSignIn(server: string, user: PrivateUser): void;
  /** Forgets the lists of a private connection that is gone. */
  end(server: string, user: PrivateUser): void;
  /** Returns the servers with private lists. */
  servers(): ReadonlySet<string>;
  /** Builds the entries of a server again, whose own entry has changed. */
  rebuild(server: string): void;
  /** Forgets a server for all users. */
  forget(server: string): void;
}

const MAX_CATALOGS = 1000;
const NO_LISTS: UserLists = new Map();

export function privateViews({ parts, ownerOf, shared, onChange }: PrivateViewsOptions): PrivateViews {
  const views = new Map<string, View>();
  const catalogs = viewCatalogs({ parts, ownerOf, shared });
  const interned = listInterner();

  function viewOf(user: PrivateUser): View {
    const key = userKey(user);
    const view = views.get(key) ?? { user, servers: new Map(), made: undefined };
    views.set(key, view);
    return view;
  }

  /** Replaces the lists of a user at a server, and reports the kinds that changed. */
  function replace(server: string, user: PrivateUser, lists: UserLists): void {
    const view = viewOf(user);
    const before = view.servers.get(server) ?? NO_LISTS;
    if (lists.size === 0) view.servers.delete(server);
    else view.servers.set(server, lists);
    view.made = undefined;
    if (view.servers.size === 0) views.delete(userKey(user));
    for (const kind of new Set([...before.keys(), ...lists.keys()])) {
      const known = () => shared(server, kind, user.capabilitySet);
      if (!isSame(before.get(kind) ?? known(), lists.get(kind) ?? known())) onChange(kind, user);
    }
  }

  return {
    of(caller) {
      const from = parts.catalog();
      const view = views.size === 0 ? undefined : views.get(callerKey(caller, caller.capabilities));
      if (!view) return from;
      if (view.made?.from !== from) view.made = { from, catalog: catalogs.of(view, from) };
      return view.made.catalog;
    },
    put({ server, user, kind, items }) {
      if (!ownerOf(server)) return;
      const known = views.get(userKey(user))?.servers.get(server) ?? NO_LISTS;
      replace(server, user, new Map([...known, [kind, interned(items)]]));
    },
    requireSignIn(server, user) {
      if (ownerOf(server)) replace(server, user, new Map([['tools', [signInTool(server)]]]));
    },
    end: (server, user) => replace(server, user, NO_LISTS),
    servers: () => new Set([...views.values()].flatMap(({ servers }) => [...servers.keys()])),
    rebuild(server) {
      catalogs.clear();
      for (const view of views.values()) if (view.servers.has(server)) view.made = undefined;
    },
    forget(server) {
      catalogs.clear();
      for (const [key, view] of views) {
        if (!view.servers.delete(server)) continue;
        view.made = undefined;
        if (view.servers.size === 0) views.delete(key);
      }
    },
  };
}

/** Builds the catalogs of views. Views with the same lists share one: a thousand callers would hold a thousand copies. */
function viewCatalogs({ parts, ownerOf, shared }: Omit<PrivateViewsOptions, 'onChange'>) {
  const catalogs = new BoundedMap<string, Catalog>(MAX_CATALOGS);
  let madeFrom: Catalog | undefined;

  /** Returns the lists that differ from the shared ones. */
  const ownLists = ({ user, servers }: View) =>
    [...servers].flatMap(([server, lists]) => {
      const owner = ownerOf(server);
      const differing = [...lists].filter(([kind, items]) => !isSame(items, shared(server, kind, user.capabilitySet)));
      return owner ? differing.map(([kind, items]) => ({ server, kind, items, owner })) : [];
    });

  function make(view: View): Catalog {
    const lists = ownLists(view);
    if (lists.length === 0) return parts.catalog();
    const own = parts.copy();
    for (const { server, kind, items, owner } of lists) {
      if (kind === 'tools') own.putCapabilityEntries(server, []);
      own.put(server, { kind, items, owner: isSignInList(items) ? SIGN_IN_OWNER : owner });
    }
    return own.catalog();
  }

  return {
    of(view: View, from: Catalog): Catalog {
      if (madeFrom !== from) catalogs.clear();
      madeFrom = from;
      const key = viewKey(view);
      const catalog = catalogs.get(key) ?? make(view);
      catalogs.set(key, catalog);
      return catalog;
    },
    clear: () => catalogs.clear(),
  };
}

/** Returns the same key for views with the same catalog. */
function viewKey({ user, servers }: View): string {
  const lists = [...servers].flatMap(([server, own]) =>
    // A server may list a tool with the text of the one for signing in.
    [...own].map(([kind, items]) => `${server} ${kind} ${isSignInList(items) ? 'sign-in' : listDigest(items)}`),
  );
  return JSON.stringify([user.capabilitySet, lists.sort()]);
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

const listDigests = new WeakMap<readonly JsonObject[], string>();

function listDigest(items: readonly JsonObject[]): string {
  const digest = listDigests.get(items) ?? createHash('sha256').update(JSON.stringify(items)).digest('base64url');
  listDigests.set(items, digest);
  return digest;
}

/** Returns a function that replaces a list by the same one of another user, so that it is held once. */
function listInterner(): (items: readonly JsonObject[]) => readonly JsonObject[] {
  const lists = new BoundedMap<string, readonly JsonObject[]>(MAX_CATALOGS);
  return function interned(items) {
    const digest = listDigest(items);
    const known = lists.get(digest) ?? items;
    lists.set(digest, known);
    return known;
  };
}
