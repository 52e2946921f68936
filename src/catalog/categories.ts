import type { Target } from '../core/call.ts';

/** One category, and what is in it. */
export interface Category {
  readonly name: string;
  readonly tools: number;
  /** Whose tools they are, in order. */
  readonly servers: readonly string[];
}

/** The categories of these tools, in order. */
export function categoriesOf(targets: readonly Target[]): readonly Category[] {
  const found = Map.groupBy(targets, ({ facts }) => facts.category);
  const categories = [...found].map(([name, members]) => ({
    name,
    tools: members.length,
    servers: [...new Set(members.flatMap(({ servers }) => servers))].sort(),
  }));
  return categories.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What is asked for: all of it, or what one server can answer, or what is in one category. */
export interface Narrowing {
  readonly server?: string;
  readonly category?: string;
}

export const isInNarrowing = ({ servers, facts }: Target, { server, category }: Narrowing): boolean =>
  (server === undefined || servers.includes(server)) && (category === undefined || facts.category === category);
