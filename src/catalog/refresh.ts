import type { ServerEntry } from '../config/schema.ts';
import type { JsonObject } from '../core/call.ts';
import { buildCatalog, buildPart, type Part } from './build.ts';
import type { Catalog } from './catalog.ts';

export interface Definitions {
  readonly server: string;
  readonly tools: readonly JsonObject[];
}

export interface CatalogOptions {
  readonly owners: ReadonlyMap<string, { readonly entry: ServerEntry | undefined; readonly builtin: boolean }>;
  /** What servers had when they were last seen, so that they are listed before they are started. */
  readonly remembered: readonly Definitions[];
  readonly onChange: () => void;
}

export interface LiveCatalog {
  current(): Catalog;
  /** True when the tools of this server are known, from now or from an earlier time. */
  knows(server: string): boolean;
  /** Takes a server's new list. Only its part is worked out again. */
  update(server: string, tools: readonly JsonObject[]): void;
}

/** Holds the one catalog there is, and replaces it when a server's list changes. */
export function liveCatalog({ owners, remembered, onChange }: CatalogOptions): LiveCatalog {
  const parts = new Map<string, Part>();
  const lists = new Map<string, string>();
  let current: Catalog | undefined;

  function take(server: string, tools: readonly JsonObject[]): boolean {
    const owner = owners.get(server);
    const list = JSON.stringify(tools);
    if (!owner || lists.get(server) === list) return false;
    lists.set(server, list);
    parts.set(server, buildPart(server, tools, owner));
    current = undefined;
    return true;
  }

  for (const { server, tools } of remembered) take(server, tools);

  return {
    current() {
      current ??= buildCatalog([...parts.values()]);
      return current;
    },
    knows: (server) => parts.has(server),
    update(server, tools) {
      if (take(server, tools)) onChange();
    },
  };
}
