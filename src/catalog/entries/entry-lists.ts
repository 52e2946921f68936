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

/** The lists of all servers, each worked out when it comes, and the catalog they make, put together when it is wanted. */
export class EntryLists {
  readonly #tools = new Map<string, ServerTools>();
  readonly #able = new Map<string, readonly CatalogEntry[]>();
  readonly #prompts = new Map<string, PromptEntries>();
  readonly #resources = new Map<string, ServerResources>();
  readonly #templates = new Map<string, ServerResources>();
  // A change of one kind leaves the others as they are.
  #catalog: Catalog | undefined;
  #toolShelf: Tools | undefined;
  #promptShelf: NameIndex | undefined;
  #resourceShelf: Resources | undefined;

  /** The same lists, with all that was worked out of them: what is put there does not change these. */
  copy(): EntryLists {
    const copied = new EntryLists();
    copied.#catalog = this.catalog();
    for (const [server, part] of this.#tools) copied.#tools.set(server, part);
    for (const [server, offers] of this.#able) copied.#able.set(server, offers);
    for (const [server, prompts] of this.#prompts) copied.#prompts.set(server, prompts);
    for (const [server, holdings] of this.#resources) copied.#resources.set(server, holdings);
    for (const [server, holdings] of this.#templates) copied.#templates.set(server, holdings);
    copied.#toolShelf = this.#toolShelf;
    copied.#promptShelf = this.#promptShelf;
    copied.#resourceShelf = this.#resourceShelf;
    return copied;
  }

  /** Always true: there is another catalog now. */
  put(server: string, { kind, items, owner }: Listed): true {
    this.#catalog = undefined;
    if (kind === 'tools') {
      this.#tools.set(server, buildServerTools(server, items, owner));
      this.#toolShelf = undefined;
    } else if (kind === 'prompts') {
      this.#prompts.set(server, promptEntries(server, items, owner));
      this.#promptShelf = undefined;
    } else {
      const one = kind === 'templates' ? 'template' : 'resource';
      const holdings = serverResourcesOf({ kind: one, server, definitions: items }, owner);
      (kind === 'templates' ? this.#templates : this.#resources).set(server, holdings);
      this.#resourceShelf = undefined;
    }
    return true;
  }

  /** Tools of a server that not everybody is shown. */
  putAble(server: string, offers: readonly CatalogEntry[]): void {
    this.#catalog = undefined;
    this.#toolShelf = undefined;
    this.#able.set(server, offers);
  }

  forget(server: string): void {
    for (const lists of [this.#tools, this.#able, this.#prompts, this.#resources, this.#templates])
      lists.delete(server);
    this.#catalog = undefined;
    this.#toolShelf = undefined;
    this.#promptShelf = undefined;
    this.#resourceShelf = undefined;
  }

  /** What there is any of, beside tools. */
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
    this.#promptShelf ??= buildNameIndex(prompts.flatMap(({ entries }) => entries));
    this.#resourceShelf ??= buildResources([...inOrder(this.#resources), ...inOrder(this.#templates)]);
    this.#toolShelf ??= buildTools([...this.#tools.values()], inOrder(this.#able).flat());
    const { problems } = this.#resourceShelf;
    this.#catalog = {
      ...this.#toolShelf,
      prompts: this.#promptShelf,
      resources: this.#resourceShelf,
      problems: [...this.#toolShelf.problems, ...problems, ...prompts.flatMap((one) => one.problems)],
    };
    return this.#catalog;
  }
}

/** By server, so that none comes first because it was there first. */
const inOrder = <T>(byServer: ReadonlyMap<string, T>): readonly T[] =>
  [...byServer].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part);
