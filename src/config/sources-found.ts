import type { JsonObject } from '../core/call.ts';
import type { HeddleError } from '../core/errors.ts';
import type { Clock } from '../core/time.ts';
import type { Config, LoadedPolicy, Problem, ServerConfig } from './config.ts';
import type { ConfigSource } from './config-source.ts';
import type { FileReading } from './read/read-file.ts';
import type { ManagedFiles } from './sources/find-managed.ts';
import type { SourceFolder } from './sources/source-folders.ts';
import type { PluginPath, Source } from './sources/sources.ts';
import type { TrustBook } from './sources/trust-book.ts';

export interface LoadOptions {
  readonly cwd: string;
  /** Heddle's folder of this user. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Undefined if the environment has no HOME. */
  readonly userHome: string | undefined;
  /** Reads secrets by name, in one call. A secret that is not set is missing in the result. */
  readonly secrets?: (names: readonly string[]) => Promise<ReadonlyMap<string, string | HeddleError>>;
  /** The only file to read, apart from an organisation's. */
  readonly file?: string;
  /** The sources to read besides those of an organisation, highest precedence first. */
  readonly chosen?: readonly ConfigSource[];
  /** A configuration instead of all files but an organisation's; `false` for none. */
  readonly config?: JsonObject | false;
  /** Servers from a program (`sdk`), from its API at run time (`dynamic`) or from a command line (`command`). */
  readonly programmatic?: readonly ServerConfig[];
  /** The folder of an organisation's files. */
  readonly systemFolder?: string;
  /** Opens the user's trust decisions; without it everything is trusted. */
  readonly trust?: () => Promise<TrustBook>;
  readonly clock?: Clock;
  /** By file: the rules of its last valid version. They stay in force while the file is invalid. */
  readonly lastPolicies?: Map<string, readonly LoadedPolicy[]>;
  /** Timeout of one fetch from a connector. */
  readonly fetchTimeoutMs?: number;
  /** Aborts fetches, those in the background too. */
  readonly signal?: AbortSignal;
}

/** A source and the result of reading it. */
export interface ReadSource {
  readonly source: Source;
  readonly reading: FileReading;
}

/** All sources found on this machine, read but not yet validated. */
export interface SourcesFound {
  readonly projectFolder: string;
  readonly home: string;
  readonly managed: ManagedFiles;
  /** The sources, highest precedence first. */
  readonly sources: readonly ReadSource[];
  readonly plugins: readonly PluginPath[];
  /** The policy folders of the organisation, the project and the user. */
  readonly policies: readonly SourceFolder[];
  /** The workflow folders of the organisation, the project and the user. */
  readonly workflows: readonly SourceFolder[];
  readonly files: Config['files'];
  /** Problems of files that cannot be read. */
  readonly problems: readonly Problem[];
}
