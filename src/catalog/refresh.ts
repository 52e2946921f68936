import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ServerConfig } from '../config/config.ts';
import type { ServerEntry } from '../config/schema.ts';
import { signatureOf } from '../config/signature.ts';
import type { JsonObject } from '../core/call.ts';
import type { ListKind } from '../upstream/connection.ts';
import { LIST_KINDS } from '../upstream/keep-lists.ts';
import type { Lists } from '../upstream/knowledge.ts';
import { ableOffers, beyond } from './able-offers.ts';
import type { Catalog } from './catalog.ts';
import { Parts } from './parts.ts';

/** What a server lists, each item as it was written. */
export type Definitions = { readonly server: string; readonly tools: readonly JsonObject[] } & Lists;

/** What a server lists to those who can be asked something, as `abilitiesKey` says it. */
export interface Able {
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
  readonly rememberedAble?: readonly Able[];
  /** Told what is other than before, and for whom if not for everybody; templates are counted as resources. */
  readonly onChange: (list: ChangedList, abilities?: number) => void;
}

export interface LiveCatalog {
  current(): Catalog;
  /** True when the tools of this server are known, from now or from an earlier time. */
  knows(server: string): boolean;
  /** Takes a server's new list, of tools unless said. Only its part is worked out again. */
  update(server: string, items: readonly JsonObject[], kind?: ListKind): void;
  /** Takes the tools that a server lists to those who can be asked this. */
  updateAble(able: Able): void;
  /** Takes new servers and new entries. What is not named any more is gone, what changed is worked out again. */
  configure(owners: Owners): void;
}

/** What clients are told about when it changes. */
export type ChangedList = 'tools' | 'resources' | 'prompts';

export const CHANGED: Readonly<Record<ListKind, ChangedList>> = {
  tools: 'tools',
  resources: 'resources',
  templates: 'resources',
  prompts: 'prompts',
};

interface Taken {
  /** Of the list's JSON, which would be as large as the list itself. */
  readonly hash: string;
  readonly items: readonly JsonObject[];
}

// Another command or address is another server: what the one had says nothing of the other.
const signature = (entry: ServerEntry | undefined) => entry && signatureOf(entry);

/** Holds the one catalog there is, and replaces it when a list of a server, or its entry, changes. */
export function liveCatalog({ owners: first, remembered, rememberedAble = [], onChange }: CatalogOptions): LiveCatalog {
  const lists = new Map<string, Map<ListKind, Taken>>();
  const able = new Map<string, Map<number, readonly JsonObject[]>>();
  const parts = new Parts();
  let owners = first;

  /** Works out again what of a server not everybody sees: as long as nobody knows what everybody sees, nothing. */
  function putAble(server: string): void {
    const own = able.get(server);
    const everybodys = lists.get(server)?.get('tools')?.items;
    const owner = owners.get(server);
    if (own && everybodys && owner) parts.putAble(server, ableOffers(server, { everybodys, able: own }, owner));
  }

  function takeAble({ server, abilities, tools }: Able): void {
    able.set(server, (able.get(server) ?? new Map()).set(abilities, tools));
    putAble(server);
  }

  function take(server: string, kind: ListKind, items: readonly JsonObject[]): boolean {
    const owner = owners.get(server);
    const hash = createHash('sha256').update(JSON.stringify(items)).digest('base64url');
    const own = lists.get(server) ?? new Map<ListKind, Taken>();
    if (!owner || own.get(kind)?.hash === hash) return false;
    lists.set(server, own.set(kind, { hash, items }));
    if (kind === 'tools') putAble(server);
    return parts.put(server, { kind, items, owner });
  }

  for (const { server, ...known } of remembered) {
    for (const kind of LIST_KINDS) if (known[kind]) take(server, kind, known[kind]);
  }

  for (const one of rememberedAble) takeAble(one);

  return {
    current: () => parts.catalog(),
    knows: (server) => lists.get(server)?.has('tools') === true,
    update(server, items, kind = 'tools') {
      const had = lists.get(server)?.get(kind)?.items.length ?? 0;
      if (!take(server, kind, items)) return;
      // Most servers have nothing but tools, and that is no news.
      if (kind === 'tools' || had > 0 || items.length > 0) onChange(CHANGED[kind]);
    },
    updateAble(found) {
      const { server, abilities } = found;
      const more = () => beyond(lists.get(server)?.get('tools')?.items ?? [], able.get(server)?.get(abilities) ?? []);
      const before = more();
      takeAble(found);
      if (!isDeepStrictEqual(before, more())) onChange('tools', abilities);
    },
    configure(next) {
      const before = owners;
      const had = parts.lists();
      owners = next;
      for (const [server, own] of [...lists]) {
        const owner = next.get(server);
        const known = before.get(server)?.entry;
        if (!owner || signature(owner.entry) !== signature(known)) {
          lists.delete(server);
          able.delete(server);
          parts.forget(server);
        } else if (!isDeepStrictEqual(owner, before.get(server))) {
          for (const [kind, { items }] of own) parts.put(server, { kind, items, owner });
          putAble(server);
        }
      }
      for (const list of new Set<ChangedList>(['tools', ...had, ...parts.lists()])) onChange(list);
    },
  };
}
