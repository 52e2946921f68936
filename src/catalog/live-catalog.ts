import { isDeepStrictEqual } from 'node:util';
import type { ServerConfig } from '../config/config.ts';
import { signatureOf } from '../config/read/signature.ts';
import type { ServerEntry } from '../config/schema/schema.ts';
import type { PrivateUser } from '../core/call/private-user.ts';
import type { Caller, JsonObject } from '../core/call.ts';
import type { ListKind } from '../upstream/connection.ts';
import { LIST_KINDS } from '../upstream/lifecycle/refresh-lists.ts';
import type { Lists } from '../upstream/lifecycle/server-definitions.ts';
import type { Catalog } from './catalog.ts';
import { capabilityEntries } from './entries/capability-entries.ts';
import { EntryLists } from './entries/entry-lists.ts';
import type { Owner } from './entries/facts.ts';
import { type PrivateViews, privateViews } from './entries/private-views.ts';
import { ServerLists } from './entries/server-lists.ts';

/** What a server lists, each item as it was written. */
export type Definitions = { readonly server: string; readonly tools: readonly JsonObject[] } & Lists;

/** What a server lists to those who can be asked something, as `abilitiesKey` says it. */
export interface CapabilityToolList {
  readonly server: string;
  readonly abilities: number;
  readonly tools: readonly JsonObject[];
}

/** The servers there are, and whose word their tools' facts rest on. */
export type Owners = ReadonlyMap<string, { readonly entry: ServerEntry | undefined; readonly builtin: boolean }>;

export const ownersOf = (configs: ReadonlyMap<string, Pick<ServerConfig, 'entry' | 'scope'>>): Owners =>
  new Map([...configs].map(([name, { entry, scope }]) => [name, { entry, builtin: scope === 'builtin' }]));

export interface CatalogOptions {
  readonly owners: Owners;
  /** What servers had when they were last seen, so that they are listed before they are started. */
  readonly remembered: readonly Definitions[];
  /** What they had for those who can be asked something. */
  readonly rememberedAble?: readonly CapabilityToolList[];
  /** Told what is other than before, and for whom if not for everybody; templates are counted as resources. */
  readonly onChange: (list: ChangedList, audience?: Audience) => void;
}

/** The clients that see a change: those with one capability set, or one private user. */
export interface Audience {
  readonly abilities?: number;
  readonly user?: PrivateUser;
}

export interface LiveCatalog {
  /** The catalog of a caller: with the lists of their private connections in place of the shared ones. */
  current(caller?: Caller): Catalog;
  /** The lists of private connections, which are for their users alone. */
  readonly privately: Pick<PrivateViews, 'put' | 'end'>;
  /** True when the tools of this server are known, from now or from an earlier time. */
  knows(server: string): boolean;
  /** Takes a server's new list, of tools unless said. Only its part is worked out again. */
  update(server: string, items: readonly JsonObject[], kind?: ListKind): void;
  /** Takes the tools that a server lists to those who can be asked this. */
  updateAble(able: CapabilityToolList): void;
  /** Takes new servers and new entries. What is not named any more is gone, what changed is worked out again. */
  configure(owners: Owners): void;
}

/** What clients are told about when it changes. */
export type ChangedList = 'tools' | 'resources' | 'prompts';

export const CHANGED_LIST_OF: Readonly<Record<ListKind, ChangedList>> = {
  tools: 'tools',
  resources: 'resources',
  templates: 'resources',
  prompts: 'prompts',
};

// Another command or address is another server: what the one had says nothing of the other.
const signature = (entry: ServerEntry | undefined) => entry && signatureOf(entry);

/** Holds the one catalog there is, and replaces it when a list of a server, or its entry, changes. */
export function liveCatalog({ owners: first, remembered, rememberedAble = [], onChange }: CatalogOptions): LiveCatalog {
  const lists = new ServerLists();
  const parts = new EntryLists();
  let owners = first;
  const views = privateViews({
    parts,
    ownerOf: (server) => owners.get(server),
    shared: (server, kind, abilities) =>
      kind === 'tools' ? [...lists.items(server, kind), ...lists.more(server, abilities)] : lists.items(server, kind),
    onChange: (kind, user) => onChange(CHANGED_LIST_OF[kind], { user }),
  });

  /** Works out again what of a server not everybody sees: as long as nobody knows what everybody sees, nothing. */
  function putAble(server: string): void {
    const able = lists.able(server);
    const owner = owners.get(server);
    if (able.size === 0 || !owner || !lists.has(server, 'tools')) return;
    parts.putAble(server, capabilityEntries(server, { everybodys: lists.items(server, 'tools'), able }, owner));
  }

  function takeAble({ server, abilities, tools }: CapabilityToolList): void {
    lists.putAble(server, abilities, tools);
    putAble(server);
  }

  function take(server: string, kind: ListKind, items: readonly JsonObject[]): boolean {
    const owner = owners.get(server);
    if (!owner || !lists.put(server, kind, items)) return false;
    if (kind === 'tools') putAble(server);
    return parts.put(server, { kind, items, owner });
  }

  /** Works out a server again whose entry has changed, or forgets it. */
  function renew(server: string, before: Owner | undefined): void {
    const owner = owners.get(server);
    if (!owner || signature(owner.entry) !== signature(before?.entry)) {
      for (const known of [lists, parts, views]) known.forget(server);
    } else if (!isDeepStrictEqual(owner, before)) {
      for (const [kind, items] of lists.of(server)) parts.put(server, { kind, items, owner });
      putAble(server);
    }
  }

  for (const { server, ...known } of remembered) {
    for (const kind of LIST_KINDS) if (known[kind]) take(server, kind, known[kind]);
  }

  for (const one of rememberedAble) takeAble(one);

  return {
    current: (caller) => (caller ? views.of(caller) : parts.catalog()),
    privately: views,
    knows: (server) => lists.has(server, 'tools'),
    update(server, items, kind = 'tools') {
      const had = lists.items(server, kind).length;
      if (!take(server, kind, items)) return;
      // Most servers have nothing but tools, and that is no news.
      if (kind === 'tools' || had > 0 || items.length > 0) onChange(CHANGED_LIST_OF[kind]);
    },
    updateAble(found) {
      const { server, abilities } = found;
      const before = lists.more(server, abilities);
      takeAble(found);
      if (!isDeepStrictEqual(before, lists.more(server, abilities))) onChange('tools', { abilities });
    },
    configure(next) {
      const before = owners;
      const had = parts.lists();
      owners = next;
      for (const server of lists.servers()) renew(server, before.get(server));
      for (const list of new Set<ChangedList>(['tools', ...had, ...parts.lists()])) onChange(list);
    },
  };
}
