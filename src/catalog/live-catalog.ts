import { isDeepStrictEqual } from 'node:util';
import type { ServerConfig } from '../config/config.ts';
import { listSignatureOf } from '../config/read/signature.ts';
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
import { type LiveLinks, liveLinks } from './views/live-links.ts';
import type { ViewNames } from './views/view-names.ts';

/** The lists of a server, each item exactly as the server sent it. */
export type Definitions = { readonly server: string; readonly tools: readonly JsonObject[] } & Lists;

/** The tools that a server lists to clients with a capability set. */
export interface CapabilityToolList {
  readonly server: string;
  readonly capabilitySet: number;
  readonly tools: readonly JsonObject[];
}

/** The configured servers, with the entry that determines the facts of their tools. */
export type Owners = ReadonlyMap<string, Owner>;

export const ownersOf = (configs: ReadonlyMap<string, Pick<ServerConfig, 'entry' | 'scope'>>): Owners =>
  new Map(
    [...configs].map(([name, { entry, scope }]) => [
      name,
      { entry, builtin: scope === 'builtin', isManaged: scope === 'enterprise' },
    ]),
  );

export interface CatalogOptions {
  readonly owners: Owners;
  /** The last known lists of servers, used before the servers are started. */
  readonly remembered: readonly Definitions[];
  /** The last known tools by capability set. */
  readonly capabilityTools?: readonly CapabilityToolList[];
  /** Called with each changed list, and its audience if not all callers see the change. Templates count as resources. */
  readonly onChange: (list: ChangedList, audience?: Audience) => void;
}

/** The clients that see a change: those with one capability set, or one private user. */
export interface Audience {
  readonly capabilitySet?: number;
  readonly user?: PrivateUser;
}

export interface LiveCatalog extends Pick<LiveLinks, 'linked' | 'nameLink'> {
  /** The catalog of a caller: with the lists of their private connections in place of the shared ones. */
  current(caller?: Caller): Catalog;
  /** The lists of private connections, which are for their users alone. */
  readonly privately: Pick<PrivateViews, 'put' | 'end' | 'requireSignIn'>;
  /** True when the tools of this server are known, from now or from an earlier time. */
  knows(server: string): boolean;
  /** Replaces a list of a server, the tools by default. Only the entries of that server are built again. */
  update(server: string, items: readonly JsonObject[], kind?: ListKind): void;
  /** Replaces the tools that a server lists to clients with a capability set. */
  updateCapabilityTools(listed: CapabilityToolList): void;
  /** Applies a new configuration. Removed servers disappear, and changed ones are built again. */
  configure(owners: Owners): void;
}

/** The lists with `list_changed` notifications. */
export type ChangedList = 'tools' | 'resources' | 'prompts';

export const CHANGED_LIST_OF: Readonly<Record<ListKind, ChangedList>> = {
  tools: 'tools',
  resources: 'resources',
  templates: 'resources',
  prompts: 'prompts',
};

// An entry with another command or address is another server, so its old lists are dropped.
const signature = (entry: ServerEntry | undefined) => entry && listSignatureOf(entry);

/** Holds the current catalog and replaces it when a list or an entry of a server changes. */
export function liveCatalog({ remembered, capabilityTools = [], onChange, ...first }: CatalogOptions): LiveCatalog {
  let { owners } = first;
  const ownerOf = (server: string) => owners.get(server);
  const [lists, entries] = [new ServerLists(), new EntryLists({ ownerOf })];
  const views = privateViews({
    parts: entries,
    ownerOf,
    shared: (server, kind, capabilitySet) => lists.itemsFor(server, kind, capabilitySet),
    onChange: (kind, user) => onChange(CHANGED_LIST_OF[kind], { user }),
  });
  const links = liveLinks({ ownerOf, catalogOf: views.of });

  const rebuildCapabilityEntries = (server: string) => rebuildEntries(server, { lists, entries }, ownerOf(server));

  function takeCapabilityTools({ server, capabilitySet, tools }: CapabilityToolList): void {
    lists.putCapabilityTools(server, capabilitySet, tools);
    rebuildCapabilityEntries(server);
  }

  function take(server: string, kind: ListKind, items: readonly JsonObject[]): boolean {
    const owner = owners.get(server);
    if (!owner || !lists.put(server, kind, items)) return false;
    if (kind === 'tools') rebuildCapabilityEntries(server);
    return entries.put(server, { kind, items, owner });
  }

  /** Rebuilds a server whose entry has changed, or removes it. */
  function renew(server: string, before: Owner | undefined): void {
    const owner = owners.get(server);
    if (!owner || signature(owner.entry) !== signature(before?.entry)) {
      for (const known of [lists, entries, views, links]) known.forget(server);
    } else if (!isDeepStrictEqual(owner, before)) {
      for (const [kind, items] of lists.of(server)) entries.put(server, { kind, items, owner });
      rebuildCapabilityEntries(server);
      views.rebuild(server);
    }
  }

  for (const { server, ...known } of remembered) {
    for (const kind of LIST_KINDS) if (known[kind]) take(server, kind, known[kind]);
  }

  for (const listed of capabilityTools) takeCapabilityTools(listed);
  return {
    linked: links.linked,
    nameLink: links.nameLink,
    current: (caller) => (caller ? views.of(caller) : entries.catalog()),
    privately: views,
    knows: (server) => lists.has(server, 'tools'),
    update(server, items, kind = 'tools') {
      const [had, before] = [lists.items(server, kind).length, entries.viewNames()];
      if (!take(server, kind, items)) return;
      // An empty list of another kind that stays empty is not a change.
      if (kind !== 'tools' && had + items.length === 0) return;
      for (const list of changedLists(kind, before, entries.viewNames())) onChange(list);
    },
    updateCapabilityTools(listed) {
      const { server, capabilitySet } = listed;
      const additional = () => lists.additionalTools(server, capabilitySet);
      const before = additional();
      takeCapabilityTools(listed);
      if (!isDeepStrictEqual(before, additional())) onChange('tools', { capabilitySet });
    },
    configure(next) {
      const before = owners;
      const had = entries.lists();
      owners = next;
      entries.serversChanged();
      for (const server of new Set([...lists.servers(), ...views.servers()])) renew(server, before.get(server));
      for (const list of new Set<ChangedList>(['tools', ...had, ...entries.lists()])) onChange(list);
    },
  };
}

/** Rebuilds the entries that only some capability sets see. It needs the shared tool list to be known. */
function rebuildEntries(
  server: string,
  { lists, entries }: { readonly lists: ServerLists; readonly entries: EntryLists },
  owner: Owner | undefined,
): void {
  const byCapability = lists.byCapability(server);
  if (byCapability.size === 0 || !owner || !lists.has(server, 'tools')) return;
  const shared = lists.items(server, 'tools');
  entries.putCapabilityEntries(server, capabilityEntries(server, { shared, byCapability }, owner));
}

/** Returns the lists that a change of one list of a server changes: with the names of views, the other list too. */
const changedLists = (kind: ListKind, before: ViewNames, after: ViewNames): readonly ChangedList[] =>
  before.key === after.key ? [CHANGED_LIST_OF[kind]] : [...new Set([CHANGED_LIST_OF[kind], ...VIEW_LISTS])];

const VIEW_LISTS = ['tools', 'resources'] as const;
