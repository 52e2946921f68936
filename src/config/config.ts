import type { JsonObject } from '../core/call.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { ServerEntry, Settings } from './schema/schema.ts';

/** Where something is written; line and column count from 1. */
export interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Something wrong with the configuration. It is reported, never thrown: the rest goes on working. */
export interface Problem {
  readonly level: 'error' | 'warn';
  readonly code: Extract<
    ErrorCode,
    | 'CONFIG_INVALID'
    | 'VARIABLE_UNSET'
    | 'SERVER_BLOCKED'
    | 'SERVER_UNTRUSTED'
    | 'UPSTREAM_UNREACHABLE'
    | 'UPSTREAM_TIMEOUT'
  >;
  readonly message: string;
  readonly fix: string;
  readonly at?: SourceLocation;
  readonly server?: string;
}

/** Who says so. */
export type Scope =
  | 'enterprise'
  | 'sdk'
  | 'dynamic'
  | 'command'
  | 'environment'
  | 'config'
  | 'local'
  | 'project'
  | 'user'
  | 'plugin'
  | 'connector'
  | 'builtin'
  | 'default';

/** The same thing written elsewhere too, and not in force. */
export interface Shadow {
  readonly scope: Scope;
  readonly at: SourceLocation;
}

/** Where a value in force comes from. */
export interface ValueOrigin extends Shadow {
  readonly shadowed: readonly Shadow[];
}

/** What the organisation's lists say about a server, and the line that says it. */
export interface PolicyVerdict {
  readonly effect: 'allow' | 'block';
  readonly rule: string;
  readonly at?: SourceLocation;
}

export interface ServerConfig {
  readonly name: string;
  readonly scope: Scope;
  readonly at?: SourceLocation;
  /** Expanded, checked, defaults filled; absent when broken. */
  readonly entry?: ServerEntry;
  /** As the file has it: what a person agrees to when they trust it. */
  readonly written?: JsonObject;
  /** Why it must not be started: it is broken, or the organisation forbids it. */
  readonly problem?: Problem;
  readonly policy?: PolicyVerdict;
  /** It came with the project's folder or from a connector: it starts only after the user has agreed to it. */
  readonly needsTrust?: boolean;
  /** The agreement counts in every project: the user's own connector brought it. */
  readonly everywhere?: true;
  readonly shadowed: readonly Shadow[];
}

/** A server that is written somewhere and is not one, and why. */
export interface DroppedServer extends Shadow {
  readonly name: string;
  readonly reason: string;
}

export interface SourceFile {
  readonly file: string;
  readonly scope: Scope;
  readonly state: 'found' | 'broken' | 'absent';
  /** The version of the file just before it was read. */
  readonly version?: string;
}

/** Something that came with the project's folder and counts only once the user has agreed to it. */
export interface Untrusted {
  /** `server github`, `settings heddle.json`, `connector corp`. */
  readonly thing: string;
  /** What agreeing would let happen, in words. */
  readonly would: string;
  /** What else it says, line by line. */
  readonly also: readonly string[];
  readonly hash: string;
  readonly at?: SourceLocation;
  /** It belongs to the user, not to one project, so the agreement counts in every project. */
  readonly everywhere?: true;
}

/** Everything the files say, in force. */
export interface Config {
  readonly projectFolder: string;
  /** In order of precedence, those that do not exist included. */
  readonly files: readonly SourceFile[];
  readonly servers: ReadonlyMap<string, ServerConfig>;
  readonly dropped: readonly DroppedServer[];
  readonly settings: Settings;
  /** By dotted key (`gateway.port`, `mcpServers.github.env.TOKEN`): what is written somewhere. The rest is default. */
  readonly places: ReadonlyMap<string, ValueOrigin>;
  readonly problems: readonly Problem[];
  /**
   * What was fetched earlier is used at once and asked for again behind the scenes. Settles, at the
   * latest after the timeout, with whether an answer has changed: loading again gives another configuration then.
   */
  readonly refreshed: Promise<boolean>;
  /** What came with the project and counts only once the user has agreed to it. */
  readonly untrusted: readonly Untrusted[];
}
