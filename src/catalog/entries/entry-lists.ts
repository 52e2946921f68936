import type { JsonObject } from '../../core/call.ts';
import type { ListKind } from '../../upstream/connection.ts';
import type { Catalog, NameIndex, Resources } from '../catalog.ts';
import { buildNameIndex, buildTools, type Tools } from './build.ts';
import type { CatalogEntry } from './entry.ts';
import type { Owner } from './facts.ts';
import { type PromptEntries, promptEntries } from './prompts.ts';
import { buildResources, type ServerResources, serverResourcesOf } from './resources.ts';
import { buildServerTools, type ServerTools } from './server-tools.ts';

interface Listed {
  readonly kind: ListKind;
  readonly items: readonly JsonObject[];
  readonly owner: Owner;
}

/** The entries of all servers. Each list is built when it arrives, and the catalog when it is first read. */
export class EntryLists {
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

  /** Returns an independent copy that shares the built entries. */
  copy(): EntryLists {
    const copied = new EntryLists();
    copied.#catalog = this.catalog();
    for (const [server, tools] of this.#tools) copied.#tools.set(server, tools);
    for (const [server, entries] of this.#byCapability) copied.#byCapability.set(server, entries);
    for (const [server, prompts] of this.#prompts) copied.#prompts.set(server, prompts);
    for (const [server, resources] of this.#resources) copied.#resources.set(server, resources);
    for (const [server, templates] of this.#templates) copied.#templates.set(server, templates);
    copied.#toolIndex = this.#toolIndex;
    copied.#promptIndex = this.#promptIndex;
    copied.#resourceIndex = this.#resourceIndex;
    return copied;
  }

  /** Replaces a list of a server. Returns true, since the catalog changes. */
  put(server: string, { kind, items, owner }: Listed): true {
    this.#catalog = undefined;
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
    this.#toolIndex = undefined;
    this.#byCapability.set(server, entries);
  }

  forget(server: string): void {
    for (const lists of [this.#tools, this.#byCapability, this.#prompts, this.#resources, this.#templates])
      lists.delete(server);
    this.#catalog = undefined;
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

  catalog(): Catalog {
    if (this.#catalog) return this.#catalog;
    const prompts = inOrder(this.#prompts);
    this.#promptIndex ??= buildNameIndex(prompts.flatMap(({ entries }) => entries));
    this.#resourceIndex ??= buildResources([...inOrder(this.#resources), ...inOrder(this.#templates)]);
    this.#toolIndex ??= buildTools([...this.#tools.values()], inOrder(this.#byCapability).flat());
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

/** Returns the values sorted by server, so that the order of arrival does not matter. */
const inOrder = <T>(byServer: ReadonlyMap<string, T>): readonly T[] =>
  [...byServer].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
