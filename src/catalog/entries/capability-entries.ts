import type { JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { type CatalogEntry, makeEntry, type ToolEntry } from './entry.ts';
import type { Owner } from './facts.ts';
import { buildServerTools } from './server-tools.ts';

/** What a server lists to those who can be asked something, by what that is. */
export type CapabilityTools = ReadonlyMap<number, readonly JsonObject[]>;

/** The tools of a list that not everybody is shown. */
export function beyond(everybodys: readonly JsonObject[], tools: readonly JsonObject[]): readonly JsonObject[] {
  const known = new Set(everybodys.map(({ name }) => name));
  return tools.filter(({ name }) => !known.has(name));
}

/** Those tools as they are offered: the same tool is one offer, whoever sees it. They stand in for nobody in a pool. */
export function capabilityEntries(
  server: string,
  { everybodys, able }: { readonly everybodys: readonly JsonObject[]; readonly able: CapabilityTools },
  owner: Owner,
): readonly CatalogEntry[] {
  const found = new Map<string, { readonly tool: ToolEntry; readonly onlyFor: Set<number> }>();
  for (const [abilities, tools] of able) {
    for (const tool of buildServerTools(server, beyond(everybodys, tools), owner).tools) {
      const id = canonicalJson(tool.definition);
      const same = found.get(id) ?? { tool, onlyFor: new Set() };
      same.onlyFor.add(abilities);
      found.set(id, same);
    }
  }
  return [...found.values()].map(({ tool, onlyFor }) =>
    makeEntry({ group: server, servers: [server], tool: { ...tool, onlyFor } }),
  );
}
