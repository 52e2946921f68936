import type { Target } from '../core/call.ts';
import type { Category } from '../core/records/listing.ts';

/** Groups tools by category, sorted by name. */
export function categoriesOf(targets: readonly Target[]): readonly Category[] {
  const found = Map.groupBy(targets, ({ facts }) => facts.category);
  const categories = [...found].map(([name, members]) => ({
    name,
    tools: members.length,
    servers: [...new Set(members.flatMap(({ servers }) => servers))].sort(),
  }));
  return categories.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A filter of a list by server and category; an absent field matches all. */
export interface ListFilter {
  readonly server?: string;
  readonly category?: string;
}

export const matchesFilter = ({ servers, facts }: Target, { server, category }: ListFilter): boolean =>
  (server === undefined || servers.includes(server)) && (category === undefined || facts.category === category);
