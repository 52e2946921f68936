import type { Target } from '../core/call.ts';

/** What there is to call, at one moment. Replaced whole, never edited. */
export interface Catalog {
  /** Sorted by public name. */
  readonly targets: readonly Target[];
  /** By public name, or by `server.tool` as people write it. */
  find(name: string): Target | undefined;
  /** Every target whose server calls it `tool`. */
  called(tool: string): readonly Target[];
}
