import { isDeepStrictEqual } from 'node:util';
import type { ServerConfig } from '../config/config.ts';
import type { ServerEntry } from '../config/schema.ts';
import { signatureOf } from '../config/signature.ts';
import type { JsonObject } from '../core/call.ts';
import { buildCatalog } from './build.ts';
import type { Catalog } from './catalog.ts';
import { buildPart, type Part } from './part.ts';

export interface Definitions {
  readonly server: string;
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
  readonly onChange: () => void;
}

export interface LiveCatalog {
  current(): Catalog;
  /** True when the tools of this server are known, from now or from an earlier time. */
  knows(server: string): boolean;
  /** Takes a server's new list. Only its part is worked out again. */
  update(server: string, tools: readonly JsonObject[]): void;
  /** Takes new servers and new entries. What is not named any more is gone, what changed is worked out again. */
  configure(owners: Owners): void;
}

// Another command or address is another server: what the one had says nothing of the other.
const signature = (entry: ServerEntry | undefined) => entry && signatureOf(entry);

/** Holds the one catalog there is, and replaces it when a server's list, or its entry, changes. */
export function liveCatalog({ owners: first, remembered, onChange }: CatalogOptions): LiveCatalog {
  const parts = new Map<string, Part>();
  const lists = new Map<string, { readonly text: string; readonly tools: readonly JsonObject[] }>();
  let owners = first;
  let current: Catalog | undefined;

  function take(server: string, tools: readonly JsonObject[]): boolean {
    const owner = owners.get(server);
    const text = JSON.stringify(tools);
    if (!owner || lists.get(server)?.text === text) return false;
    lists.set(server, { text, tools });
    parts.set(server, buildPart(server, tools, owner));
    current = undefined;
    return true;
  }

  function forget(server: string): void {
    parts.delete(server);
    lists.delete(server);
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
    configure(next) {
      const before = owners;
      owners = next;
      for (const [server, { tools }] of [...lists]) {
        const owner = next.get(server);
        const known = before.get(server)?.entry;
        if (!owner || signature(owner.entry) !== signature(known)) forget(server);
        else if (!isDeepStrictEqual(owner, before.get(server))) parts.set(server, buildPart(server, tools, owner));
      }
      current = undefined;
      onChange();
    },
  };
}
