import type { JsonObject } from '../../core/call.ts';
import type { Problem } from '../config.ts';
import type { JsonPath } from '../document.ts';
import type { Edit, HostTransport } from './dialect.ts';

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

/** The value of a host's file, and the path of its servers. */
export interface HostValue {
  readonly root: JsonObject;
  readonly at: JsonPath;
}

/** The format of an application whose file can be edited value by value. A registry's description is no such file. */
export interface EditableFormat extends HostFormat {
  readonly transports: readonly HostTransport[];
  /** True if the host has a setting that disables a server. Without one, `disable` removes the entry. */
  readonly hasSwitch: boolean;
  /** Parses a file; an empty text is a file without content. */
  parse(text: string, where: HostLocation): HostValue | Problem;
  /** Keeps servers from starting in the host: by its own setting, else without their entries. */
  disable(names: readonly string[], text: string, where: HostLocation): Exported;
  /** Writes values into a valid file. Returns undefined if its layout does not allow it. */
  edit(text: string, edits: readonly Edit[]): string | undefined;
}
