import type { Extensions, Target } from '../call.ts';

/** A page of a list. `next` is the cursor of the page after it; absent on the last page. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next?: string;
}

/** A match of a search. */
export interface Hit {
  readonly target: Target;
  /** Comparable only with the scores of the same search. */
  readonly score: number;
  /** The field that matched best. */
  readonly reason: 'exact name' | 'name' | 'description';
}

/** A category of tools, with the number of its tools. */
export interface Category {
  readonly name: string;
  readonly tools: number;
  /** The servers of these tools, sorted by name. */
  readonly servers: readonly string[];
}

/** The MCP features that at least one server has besides tools. */
export interface Features {
  readonly resources: boolean;
  /** True if a server supports `resources/subscribe`. */
  readonly subscribe: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
  /** The instructions of all servers, a section for each; absent if no server has any. */
  readonly instructions?: string;
  /** The extensions that servers declare, by id, with their settings; absent if there are none. */
  readonly extensions?: Extensions;
}
