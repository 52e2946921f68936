import type { JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { type CatalogEntry, makeEntry, type ToolEntry } from './entry.ts';
import type { Owner } from './facts.ts';
import { buildServerTools } from './server-tools.ts';

/** The tools that a server lists to clients, by capability set. */
export type CapabilityTools = ReadonlyMap<number, readonly JsonObject[]>;

/** Returns the tools that are not in the shared list. */
export function beyond(shared: readonly JsonObject[], tools: readonly JsonObject[]): readonly JsonObject[] {
  const known = new Set(shared.map(({ name }) => name));
  return tools.filter(({ name }) => !known.has(name));
}

/** Builds the entries of these tools, one per definition. They do not join a pool. */
export function capabilityEntries(
  server: string,
  { shared, byCapability }: { readonly shared: readonly JsonObject[]; readonly byCapability: CapabilityTools },
  owner: Owner,
): readonly CatalogEntry[] {
  const found = new Map<string, { readonly tool: ToolEntry; readonly onlyFor: Set<number> }>();
  for (const [capabilities, tools] of byCapability) {
    for (const tool of buildServerTools(server, beyond(shared, tools), owner).tools) {
      const id = canonicalJson(tool.definition);
      const same = found.get(id) ?? { tool, onlyFor: new Set() };
      same.onlyFor.add(capabilities);
      found.set(id, same);
    }
  }
  return [...found.values()].map(({ tool, onlyFor }) =>
    makeEntry({ group: server, servers: [server], tool: { ...tool, onlyFor } }),
  );
}
