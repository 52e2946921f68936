import type { JsonObject } from '../../core/call.ts';
import type { Problem } from '../config.ts';
import type { JsonPath } from '../document.ts';

export type HostServers = Readonly<Record<string, JsonObject>>;

/** What a host's file says, in Heddle's words. */
export interface Imported {
  /** As they would be written under `mcpServers`. */
  readonly servers: HostServers;
  /** What could not be carried over, and why. */
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** A host's file with our servers in it. */
export interface Exported {
  /** As it was, when there are errors among the problems. */
  readonly text: string;
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** Where a file is, and where in it the servers are when that is not the usual place. */
export interface HostLocation {
  readonly file: string;
  readonly at?: JsonPath;
}

/** How one host writes servers down. Pure: text in, text out. */
export interface HostFormat {
  /** As people call it. */
  readonly title: string;
  /** Reads a file; whatever is wrong with it is in `problems`. */
  from(text: string, where: HostLocation): Imported;
  /** Puts servers into a file: comments, order and everything else in it stay. */
  to(servers: HostServers, existing: string | undefined, where: HostLocation): Exported;
  /** The same text with nothing secret in it. */
  redacted(text: string): string;
}
