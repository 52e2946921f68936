import type { Target } from '../core/call.ts';

/** Things that have public names. */
export interface NameIndex {
  /** Sorted by public name. */
  readonly targets: readonly Target[];
  /** By public name, or by `server.tool` as people write it when only one is written so. */
  find(name: string): Target | undefined;
  /** Every target that may be meant by a name which is not one target's alone: the tool's own, above all. */
  called(name: string): readonly Target[];
  /** How a person may write a target, the clearest first. */
  spellings(target: Target): readonly [string, ...string[]];
}

/** Things that have URIs. */
export interface Resources {
  /** Sorted by URI. */
  readonly targets: readonly Target[];
  /** The templates, sorted. */
  readonly templates: readonly Target[];
  /** What of the servers' lists could not be taken as it is. */
  readonly problems: readonly string[];
  /** What may be read at a URI, the most certain first; nothing tells those apart that come together. */
  meanings(uri: string): Iterable<readonly Target[]>;
  /** The templates of this very text, or else the resources of this URI. */
  named(text: string): readonly Target[];
}

/** What there is to ask for, at one moment: the tools, and the rest. Replaced whole, never edited. */
export interface Catalog extends NameIndex {
  /** What servers list that could not be taken as it is. */
  readonly problems: readonly string[];
  readonly prompts: NameIndex;
  readonly resources: Resources;
}
