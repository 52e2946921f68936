import type { JsonObject, Target } from '../../core/call.ts';
import type { ListKind } from '../../upstream/connection.ts';
import type { Catalog, NameIndex, Resources } from '../catalog.ts';
import { namedViews, viewUrisOf } from '../views/tool-views.ts';
import { NO_VIEWS, nameViews, type ViewNames, type ViewSource } from '../views/view-names.ts';
import { buildNameIndex, buildTools, type Tools } from './build.ts';
import { type CatalogEntry, catalogEntryOf, shownServer } from './entry.ts';
import type { Owner } from './facts.ts';
import { type PromptEntries, promptEntries } from './prompts.ts';
import { buildResources } from './resources.ts';
import { MAX_URI_CHARS, type ServerResources, serverResourcesOf, unlistedTarget } from './server-resources.ts';
import { buildServerTools, type ServerTools } from './server-tools.ts';

interface Listed {
  readonly kind: ListKind;
  readonly items: readonly JsonObject[];
  readonly owner: Owner;
}

export interface EntryListsOptions {
  /** Returns the configuration of a server; undefined if there is no such server. */
  readonly ownerOf: (server: string) => Owner | undefined;
}

/** The entries of all servers. Each list is built when it arrives, and the catalog when it is first read. */
export class EntryLists {
  readonly #options: EntryListsOptions;
  readonly #tools = new Map<string, ServerTools>();
  readonly #byCapability = new Map<string, readonly CatalogEntry[]>();
  readonly #prompts = new Map<string, PromptEntries>();
  readonly #resources = new Map<string, ServerResources>();
  readonly #templates = new Map<string, ServerResources>();
  // A change of one kind keeps the indexes of the others.
  #catalog: Catalog | undefined;
  #toolIndex: Tools | undefined;
  #promptIndex: NameIndex | undefined;
  #resourceIndex: Resources | undefined;
  #views: ViewNames | undefined;
  // The key of the view names that the indexes were built with, and the targets of views that only tools name.
  #viewsKey = NO_VIEWS.key;
  #unlisted: readonly Target[] = [];

  constructor(options: EntryListsOptions) {
    this.#options = options;
  }

  /** Returns an independent copy that shares the built entries. */
  copy(): EntryLists {
    const copied = new EntryLists(this.#options);
    copied.#catalog = this.catalog();
    for (const [server, tools] of this.#tools) copied.#tools.set(server, tools);
    for (const [server, entries] of this.#byCapability) copied.#byCapability.set(server, entries);
    for (const [server, prompts] of this.#prompts) copied.#prompts.set(server, prompts);
    for (const [server, resources] of this.#resources) copied.#resources.set(server, resources);
    for (const [server, templates] of this.#templates) copied.#templates.set(server, templates);
    copied.#toolIndex = this.#toolIndex;
    copied.#promptIndex = this.#promptIndex;
    copied.#resourceIndex = this.#resourceIndex;
    copied.#views = this.#views;
    copied.#viewsKey = this.#viewsKey;
    copied.#unlisted = this.#unlisted;
    return copied;
  }

  /** Replaces a list of a server. Returns true, since the catalog changes. */
  put(server: string, { kind, items, owner }: Listed): true {
    this.#catalog = undefined;
    this.#views = undefined;
    if (kind === 'tools') {
      this.#tools.set(server, buildServerTools(server, items, owner));
      this.#toolIndex = undefined;
    } else if (kind === 'prompts') {
      this.#prompts.set(server, promptEntries(server, items, owner));
      this.#promptIndex = undefined;
    } else {
      const one = kind === 'templates' ? 'template' : 'resource';
      const resources = serverResourcesOf({ kind: one, server, definitions: items }, owner);
      (kind === 'templates' ? this.#templates : this.#resources).set(server, resources);
      this.#resourceIndex = undefined;
    }
    return true;
  }

  /** Replaces the tools of a server that only some capability sets see. */
  putCapabilityEntries(server: string, entries: readonly CatalogEntry[]): void {
    this.#catalog = undefined;
    this.#views = undefined;
    this.#toolIndex = undefined;
    this.#byCapability.set(server, entries);
  }

  /** Names views again after the set of servers has changed. */
  serversChanged(): void {
    this.#catalog = undefined;
    this.#views = undefined;
    this.#resourceIndex = undefined;
  }

  forget(server: string): void {
    for (const lists of [this.#tools, this.#byCapability, this.#prompts, this.#resources, this.#templates])
      lists.delete(server);
    this.#catalog = undefined;
    this.#views = undefined;
    this.#toolIndex = undefined;
    this.#promptIndex = undefined;
    this.#resourceIndex = undefined;
  }

  /** Returns the kinds besides tools that have entries. */
  lists(): readonly ('resources' | 'prompts')[] {
    const { prompts, resources } = this.catalog();
    const hasResources = resources.targets.length + resources.templates.length > 0;
    return [
      ...(hasResources ? ['resources' as const] : []),
      ...(prompts.targets.length > 0 ? ['prompts' as const] : []),
    ];
  }

  /** Returns the names of the `ui://` URIs of all servers. */
  viewNames(): ViewNames {
    const isServer = (name: string) => this.#options.ownerOf(name) !== undefined;
    this.#views ??= nameViews(this.#viewSources(), isServer);
    return this.#views;
  }

  *#viewSources(): Generator<ViewSource> {
    for (const lists of [this.#tools, this.#resources, this.#templates]) yield* lists.values();
    for (const [server, entries] of this.#byCapability) {
      yield { server, views: entries.flatMap(({ tool }) => viewUrisOf(tool.definition)) };
    }
  }

  /** Returns a target for each view that tools name and their server does not list. */
  #unlistedViews(targets: readonly Target[], names: ViewNames): readonly Target[] {
    const { ownerOf } = this.#options;
    const named = namedViews(targets, (tool) => shownServer(catalogEntryOf(tool))).flatMap(
      ({ server, uri, namedBy }): Target[] => {
        const isListed = this.#resources.get(server)?.views.has(uri) === true;
        const owner = ownerOf(server);
        if (isListed || !owner || uri.length > MAX_URI_CHARS) return [];
        return [unlistedTarget({ server, uri, namedBy }, names.nameOf(server, uri), owner)];
      },
    );
    return named.length > 0 ? named : NO_TARGETS;
  }

  catalog(): Catalog {
    if (this.#catalog) return this.#catalog;
    const names = this.viewNames();
    if (names.key !== this.#viewsKey) {
      this.#toolIndex = undefined;
      this.#resourceIndex = undefined;
    }
    this.#viewsKey = names.key;
    const prompts = inOrder(this.#prompts);
    this.#promptIndex ??= buildNameIndex(prompts.flatMap(({ entries }) => entries));
    this.#toolIndex ??= buildTools([...this.#tools.values()], inOrder(this.#byCapability).flat(), names);
    const unlisted = this.#unlistedViews(this.#toolIndex.targets, names);
    if (unlisted.length + this.#unlisted.length > 0) this.#resourceIndex = undefined;
    this.#unlisted = unlisted;
    const lists = [...inOrder(this.#resources), ...inOrder(this.#templates)];
    this.#resourceIndex ??= buildResources(lists, { names, unlisted });
    const { problems } = this.#resourceIndex;
    this.#catalog = {
      ...this.#toolIndex,
      prompts: this.#promptIndex,
      resources: this.#resourceIndex,
      problems: [...this.#toolIndex.problems, ...problems, ...prompts.flatMap((one) => one.problems)],
    };
    return this.#catalog;
  }
}

const NO_TARGETS: readonly Target[] = [];

/** Returns the values sorted by server, so that the order of arrival does not matter. */
const inOrder = <T>(byServer: ReadonlyMap<string, T>): readonly T[] =>
  [...byServer].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
