import type { JsonObject } from '../../core/call.ts';
import type { Problem } from '../config.ts';
import type { JsonPath } from '../document.ts';

export type HostServers = Readonly<Record<string, JsonObject>>;

/** The servers of a host's file, in Heddle's format. */
export interface Imported {
  /** The entries as they are written under `mcpServers`. */
  readonly servers: HostServers;
  /** The fields that could not be converted, with the reasons. */
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** A host's file with Heddle's servers. */
export interface Exported {
  /** The new text; the old one if `problems` has errors. */
  readonly text: string;
  readonly notes: readonly string[];
  readonly problems: readonly Problem[];
}

/** The path of a file, and of the servers in it if that is not the host's usual path. */
export interface HostLocation {
  readonly file: string;
  readonly at?: JsonPath;
}

/** Converts the file of one host. Works on texts only, without I/O. */
export interface HostFormat {
  /** The name of the host for users. */
  readonly title: string;
  /** Parses a file; errors are listed in `problems`. */
  from(text: string, where: HostLocation): Imported;
  /** Adds servers to a file; comments, order and other content stay. */
  to(servers: HostServers, existing: string | undefined, where: HostLocation): Exported;
  /** Returns the text with secrets redacted. */
  redacted(text: string): string;
}
