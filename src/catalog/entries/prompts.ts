import type { JsonObject } from '../../core/call.ts';
import { type CatalogEntry, makeEntry } from './entry.ts';
import { type Owner, readingFacts } from './facts.ts';
import { limitList } from './limit-list.ts';
import { oneOf } from './server-tools.ts';

/** The prompts of one server. */
export interface PromptEntries {
  /** Named like tools. */
  readonly entries: readonly CatalogEntry[];
  /** Problems of the server's list. */
  readonly problems: readonly string[];
}

export function promptEntries(server: string, definitions: readonly JsonObject[], owner: Owner): PromptEntries {
  const facts = readingFacts(owner);
  const byName = Map.groupBy(definitions, ({ name }) => String(name));
  const { items, problems } = limitList(byName, { server, what: 'prompts' });
  const entries = items.map(([name, same]) => {
    const [definition, contradicted] = oneOf(same);
    const tool = {
      kind: 'prompt',
      name,
      shownAs: name,
      definition,
      facts,
      priority: owner.entry?.priority ?? 0,
      contradicted,
      standsFor: undefined,
    } as const;
    return makeEntry({ group: server, servers: [server], tool });
  });
  return { entries, problems };
}
