import type { Target } from '../core/call.ts';

/** What there is to call, at one moment. Replaced whole, never edited. */
export interface Catalog {
  /** What servers list that could not be taken as it is. */
  readonly problems: readonly string[];
  /** Sorted by public name. */
  readonly targets: readonly Target[];
  /** By public name, or by `server.tool` as people write it when only one is written so. */
  find(name: string): Target | undefined;
  /** Every target that may be meant by a name which is not one target's alone: the tool's own, above all. */
  called(name: string): readonly Target[];
  /** How a person may write a target, the clearest first. */
  spellings(target: Target): readonly [string, ...string[]];
}
