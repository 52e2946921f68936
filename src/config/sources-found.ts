import type { HeddleError } from '../core/errors.ts';
import type { Clock } from '../core/time.ts';
import type { Config, Problem, ServerConfig } from './config.ts';
import type { FileReading } from './read/read-file.ts';
import type { ManagedFiles } from './sources/find-managed.ts';
import type { PluginPath, Source } from './sources/sources.ts';
import type { TrustBook } from './sources/trust-book.ts';

export interface LoadOptions {
  readonly cwd: string;
  /** The folder Heddle keeps for this user. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** Opens secrets, all that are named at once; what is not set is not in the answer. */
  readonly secrets?: (names: readonly string[]) => Promise<ReadonlyMap<string, string | HeddleError>>;
  /** When given, the only file that is read, besides those of an organisation. */
  readonly file?: string;
  /** Servers that a program (`sdk`), its interface (`dynamic`) or a command line (`command`) brings along. */
  readonly programmatic?: readonly ServerConfig[];
  /** Where an organisation's files are. */
  readonly systemFolder?: string;
  /** What the user has agreed to of what came with the project; without it, everything. */
  readonly trust?: () => Promise<TrustBook>;
  readonly clock?: Clock;
  /** How long a connector may take. */
  readonly fetchTimeoutMs?: number;
  /** Stops fetching, behind the scenes too. */
  readonly signal?: AbortSignal;
}

export interface ReadSource {
  readonly source: Source;
  readonly reading: FileReading;
}

/** What there is on this machine, before anyone has looked whether it makes sense. */
export interface SourcesFound {
  readonly projectFolder: string;
  readonly home: string;
  readonly managed: ManagedFiles;
  /** In order of precedence. */
  readonly sources: readonly ReadSource[];
  readonly plugins: readonly PluginPath[];
  readonly files: Config['files'];
  /** Of files that cannot be read at all. */
  readonly problems: readonly Problem[];
}
