import type { JsonObject } from '../../core/call.ts';
import type { JsonPath } from '../document.ts';
import type { Kind } from './codec.ts';
import type { Syntax } from './template.ts';

/** A field that a host and Heddle both have, each under its own dotted name. */
export interface Lens {
  readonly host: string;
  readonly ours: string;
  readonly as: Kind;
  /** A sentence for the user about the imported field. */
  readonly warning?: string;
}

/** The values of Heddle's `type` that hosts can have. */
export type HostTransport = 'stdio' | 'http' | 'sse' | 'ws';

/** The differences between a host's entries and Heddle's. */
export interface HostDialect {
  readonly title: string;
  /** The path of the servers in the file. */
  readonly at: JsonPath;
  readonly syntax: Syntax;
  readonly transports: readonly HostTransport[];
  /** True if the host has no `type` for remote servers and tries http and sse in turn. */
  readonly untyped?: boolean;
  readonly lenses: readonly Lens[];
  /** Keys of the host that Heddle ignores, with the reason for the user; '' reports nothing. */
  readonly others?: Readonly<Record<string, string>>;
  /** Returns the reason why an entry is not imported. */
  skipReason?(written: JsonObject): string | undefined;
  /** Converts a host's entry to the shape that the lenses read, with Heddle's `type`. */
  unwrap?(written: JsonObject): JsonObject;
  /** Reverses `unwrap`. The argument has Heddle's `type`. */
  wrap?(entry: JsonObject): JsonObject;
  /** Keys that `wrap` may write and no lens names. */
  readonly wrapped?: readonly string[];
  /** For hosts without references in texts, which list the names of variables under keys of their own. */
  readonly variables?: VariableKeys;
  /** For hosts that list disabled servers elsewhere in the file. */
  readonly switches?: Switches;
}

export interface VariableKeys {
  /** Returns Heddle's `env` and `headers` for those keys, and the entry without them. */
  from(written: JsonObject, reject: (key: string, expects: string) => void): Divided;
  /** Returns those keys, and Heddle's entry without the values that they express. */
  to(ours: JsonObject): Divided;
}

export interface Divided {
  readonly rest: JsonObject;
  readonly named: JsonObject;
}

export interface Switches {
  isOff(root: JsonObject, name: string): boolean;
  /** Returns the edits that enable or disable the server. */
  edits(root: JsonObject, name: string, off: boolean): readonly Edit[];
}

/** A value to write at a path; undefined removes it. */
export interface Edit {
  readonly path: JsonPath;
  readonly value: JsonObject[string];
}

export const lens = (host: string, as: Kind, ours = host): Lens => ({ host, as, ours });

/** The lens of a list of the only tools that a host uses, which Heddle expresses as permissions. */
export const listedTools = (host: string): Lens => ({
  ...lens(host, 'literals', 'permissions.allowedTools'),
  warning: 'these tools run without an approval in Heddle, and any other tool of the server needs one.',
});

/** The lenses of fields that most hosts have under Heddle's names. */
export const LOCAL: readonly Lens[] = [lens('command', 'text'), lens('args', 'texts'), lens('env', 'map')];
export const REMOTE: readonly Lens[] = [lens('url', 'text'), lens('headers', 'map')];
