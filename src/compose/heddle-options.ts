import type { Problem } from '../config/config.ts';
import type { ConfigSource } from '../config/config-source.ts';
import type { Caller, JsonObject } from '../core/call.ts';
import type { HookFunctions } from '../core/records/hook.ts';
import type { Clock } from '../core/time.ts';
import type { ServersOption } from '../upstream/lifecycle/programmatic-servers.ts';
import type { SoleUser } from '../upstream/lifecycle/shared-connection.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface HeddleOptions {
  /** The only configuration file to read, instead of those of the project and the user. */
  readonly configFile?: string;
  /**
   * The configuration itself, with the fields of `heddle.json`, instead of all files of the project and the user.
   * `false`: no configuration. Files of an organisation apply in any case. Excludes `configFile`.
   */
  readonly config?: JsonObject | false;
  /**
   * The sources of the configuration, an earlier one before a later one. By default the variable `HEDDLE_MCP_SERVERS`, then
   * all files. Files of an organisation apply in any case. Excludes `config` and `configFile`.
   */
  readonly sources?: readonly ConfigSource[];
  /**
   * The database: `:memory:`, a file path (relative to `cwd`) or a `postgres://` URL. Overrides the setting `store`,
   * except that of an organisation's file.
   */
  readonly store?: string;
  readonly cwd?: string;
  /** The environment, by default that of the process. Its HOME and HEDDLE_HOME decide which files of a user are read. */
  readonly env?: Environment;
  /** Servers besides the configured ones: entries as in `mcpServers`, in-process servers, or transports. */
  readonly servers?: ServersOption;
  /** The scope of `servers`: the embedding program (`sdk`, the default) or a command line. */
  readonly scope?: 'sdk' | 'command';
  /** Trusts the servers and settings in the project folder without the user's agreement. */
  readonly trustProject?: boolean;
  readonly clock?: Clock;
  /** Functions that run before and after calls, input requests and approvals, after those of the configuration. */
  readonly hooks?: HookFunctions;
  /** Receives the problems of the configuration after each read. The valid rest of it is active. */
  readonly onProblems?: (problems: readonly Problem[]) => void;
  /** Reads the configuration again when one of its files changes. */
  readonly watch?: boolean;
  /** Executes runs of workflows that other processes of the same origin have left or cannot execute: a gateway does. */
  readonly runs?: boolean;
  /** Writes a checkpoint of the audit log every minute with new records, and on close. */
  readonly checkpoints?: boolean;
  /** False prevents connections before the first call, even of servers with `autoConnect`. */
  readonly autoConnect?: boolean;
  /** The only user of this process. Shared connections declare the capabilities of this user. */
  readonly user?: SoleUser;
  /**
   * Longest wait of lists and bare names for servers never seen. Default: 2 s, and the setting `connect.firstListMs` for
   * the first list. 0 starts no server.
   */
  readonly listWaitMs?: number;
  /** Shows servers that failed in another process up to this long ago as failed; lists do not start them. Default: 0. */
  readonly recentFailuresMs?: number;
  /** Returns the address at which a caller signs in to a server with per-user credentials. Without it callers are told to run `heddle auth login`. */
  readonly signInUrl?: SignInUrl;
}

/** Returns the address of a sign-in for this caller; undefined if there is no page for it. */
export type SignInUrl = (server: string, caller: Caller, signal: AbortSignal) => Promise<string | undefined>;

/** Returns the clock that dates records: the `clock` option, else wall time. */
export const wallClockOf = ({ clock = Date.now }: HeddleOptions): Clock => clock;
