import type { Target } from '../core/call.ts';

/** Catalog entries by public name: tools or prompts. */
export interface NameIndex {
  /** Sorted by public name. */
  readonly targets: readonly Target[];
  /** Finds an entry by public name, or by `server.tool` if only one entry is written so. */
  find(name: string): Target | undefined;
  /** Returns every entry that a name may mean: by `server.tool` or by the bare tool name. */
  called(name: string): readonly Target[];
  /** Returns the names that `find` and `called` accept for a target, the clearest first. */
  spellings(target: Target): readonly [string, ...string[]];
}

/** Catalog entries by URI: resources and templates. */
export interface Resources {
  /** Sorted by URI. */
  readonly targets: readonly Target[];
  /** The templates, sorted. */
  readonly templates: readonly Target[];
  /** Problems of the servers' lists. */
  readonly problems: readonly string[];
  /** Returns the targets that a URI may mean, the most certain group first. Targets of one group are equally likely. */
  meanings(uri: string): Iterable<readonly Target[]>;
  /** Returns the targets of a URI that templates match only if their simple variables may contain slashes. */
  meaningsWithSlashes(uri: string): Iterable<readonly Target[]>;
  /** Tests whether a server lists a URI. */
  lists(server: string, uri: string): boolean;
  /** Returns the name under which clients see a URI that a server sends. Only `ui://` and `heddle://` URIs may have another. */
  nameOf(server: string, uri: string): string;
  /** Returns the templates with this text, else the resources with this URI. */
  named(text: string): readonly Target[];
}

/** An immutable snapshot of all entries. A change replaces the whole snapshot. */
export interface Catalog extends NameIndex {
  /** Problems of the servers' lists. */
  readonly problems: readonly string[];
  readonly prompts: NameIndex;
  readonly resources: Resources;
}
