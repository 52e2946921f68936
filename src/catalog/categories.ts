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

/** Of these tools, those that a server can answer and that are in a category. */
export function inCategory(targets: readonly Target[], { server, category }: Narrowing): readonly Target[] {
  if (server === undefined && category === undefined) return targets;
  return targets.filter(
    ({ servers, facts }) =>
      (server === undefined || servers.includes(server)) && (category === undefined || facts.category === category),
  );
}

export interface Narrowing {
  readonly server?: string;
  readonly category?: string;
}
