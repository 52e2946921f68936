import type { JsonObject } from '../../core/call.ts';
import type { JsonPath } from '../document.ts';
import type { Kind } from './codec.ts';
import type { Syntax } from './template.ts';

/** One field that a host and Heddle both have, each under its own dotted name. */
export interface Lens {
  readonly host: string;
  readonly ours: string;
  readonly as: Kind;
  /** What to know when it is imported. */
  readonly beware?: string;
}

/** How Heddle's `type` is called when it is written at all. */
export type HostTransport = 'stdio' | 'http' | 'sse' | 'ws';

/** Everything that makes one host's entries different from ours. */
export interface HostDialect {
  readonly title: string;
  /** Where in the file the servers are. */
  readonly at: JsonPath;
  readonly syntax: Syntax;
  readonly transports: readonly HostTransport[];
  /** The host tries http and sse in turn and has no word for either. */
  readonly untyped?: boolean;
  readonly lenses: readonly Lens[];
  /** Keys of the host that mean nothing to us, with the reason; empty when there is nothing to say. */
  readonly others?: Readonly<Record<string, string>>;
  /** Why an entry is none of ours at all. */
  skips?(written: JsonObject): string | undefined;
  /** Brings a host's entry into the shape the lenses read, with `type` in our words. */
  unwrap?(written: JsonObject): JsonObject;
  /** The way back. Has `type` in our words. */
  wrap?(entry: JsonObject): JsonObject;
  /** Keys `wrap` may write that no lens names. */
  readonly wrapped?: readonly string[];
  /** For hosts whose texts hold no references, and that have keys for the names of variables instead. */
  readonly variables?: VariableKeys;
  /** For hosts that keep what is switched off somewhere else in the file. */
  readonly switches?: Switches;
}

export interface VariableKeys {
  /** Our `env` and `headers` from those keys, and the entry without them. */
  from(written: JsonObject, refuse: (key: string, expects: string) => void): Divided;
  /** Those keys, and our entry without what they say. */
  to(ours: JsonObject): Divided;
}

export interface Divided {
  readonly rest: JsonObject;
  readonly named: JsonObject;
}

export interface Switches {
  isOff(root: JsonObject, name: string): boolean;
  /** What to write where so that the server is on or off. */
  edits(root: JsonObject, name: string, off: boolean): readonly Edit[];
}

/** A value to be written at a path; undefined takes it away. */
export interface Edit {
  readonly path: JsonPath;
  readonly value: JsonObject[string];
}

export const lens = (host: string, as: Kind, ours = host): Lens => ({ host, as, ours });

/** The tools a host offers and no others, which Heddle says in terms of asking. */
export const offeredTools = (host: string): Lens => ({
  ...lens(host, 'words', 'permissions.allowedTools'),
  beware: 'these tools run without a question in Heddle, and any other tool of the server asks first.',
});

/** What nearly every host calls the same. */
export const LOCAL: readonly Lens[] = [lens('command', 'text'), lens('args', 'texts'), lens('env', 'map')];
export const REMOTE: readonly Lens[] = [lens('url', 'text'), lens('headers', 'map')];
