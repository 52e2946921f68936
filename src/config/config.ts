import type { Condition } from '../cel/condition.ts';
import type { JsonObject } from '../core/call.ts';
import type { ErrorCode } from '../core/error-codes.ts';
import type { WorkflowSource } from '../core/records/workflow.ts';
import type { ServerEntry, Settings } from './schema/schema.ts';

/** A position in a file; line and column count from 1. */
export interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** An error or a warning about the configuration. It is reported, not thrown: the rest of the configuration applies. */
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
  /** The file of a workflow that is untrusted. */
  readonly workflow?: string;
}

/** The kind of source that a value comes from, highest precedence first. */
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

/** A source that also sets a value, and loses to one of higher precedence. */
export interface Shadow {
  readonly scope: Scope;
  readonly at: SourceLocation;
}

/** The source of a value in force. */
export interface ValueOrigin extends Shadow {
  readonly shadowed: readonly Shadow[];
}

/** The decision of the organisation's server lists about one server, and the location of the rule. */
export interface PolicyVerdict {
  readonly effect: 'allow' | 'block';
  readonly rule: string;
  readonly at?: SourceLocation;
}

export interface ServerConfig {
  readonly name: string;
  readonly scope: Scope;
  readonly at?: SourceLocation;
  /** The entry, expanded, validated and with its defaults; absent if it is invalid. */
  readonly entry?: ServerEntry;
  /** The entry as the file has it. The user's trust covers its hash. */
  readonly written?: JsonObject;
  /** The reason why it must not be started: it is invalid, or the organisation forbids it. */
  readonly problem?: Problem;
  /** The reason why a server that ships with Heddle is disabled here. */
  readonly whyDisabled?: Pick<Problem, 'message' | 'fix'>;
  readonly policy?: PolicyVerdict;
  /** True for a server from the project's folder or a connector: it starts only after the user has trusted it. */
  readonly needsTrust?: boolean;
  /** True if trust counts in every project, because the user's own connector listed the server. */
  readonly everywhere?: true;
  readonly shadowed: readonly Shadow[];
}

/** A server that a source lists and that is not used, with the reason. */
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
  /** True for a file of a policy folder. */
  readonly isPolicy?: true;
}

/** A rule of `policies` or of a policy file, checked and compiled. */
export type LoadedPolicy = Settings['policies'][number] & {
  readonly scope: Scope;
  readonly at: SourceLocation;
  /** The compiled `when`. */
  readonly condition?: Condition;
};

/** A workflow of the configuration. It is compiled when workflows are used. */
export interface LoadedWorkflow extends WorkflowSource {
  readonly name: string;
  readonly scope: Scope;
  readonly at: SourceLocation;
}

/** A server, connector, plugin or group of settings that has no effect until the user trusts it. */
export interface Untrusted {
  /** `server github`, `settings heddle.json`, `connector corp`. */
  readonly thing: string;
  /** A phrase for the user: the effect of trusting it. */
  readonly would: string;
  /** Further lines for the user: its other fields. */
  readonly also: readonly string[];
  readonly hash: string;
  readonly at?: SourceLocation;
  /** True if it belongs to the user and not to one project: trust counts in every project. */
  readonly everywhere?: true;
}

/** The merged configuration. */
export interface Config {
  readonly projectFolder: string;
  /** All files of the search, highest precedence first, missing ones included. */
  readonly files: readonly SourceFile[];
  readonly servers: ReadonlyMap<string, ServerConfig>;
  readonly dropped: readonly DroppedServer[];
  readonly settings: Settings;
  /** The rules of all files in force, those of the strongest source first. */
  readonly policies?: readonly LoadedPolicy[];
  /** The workflows of all sources, highest precedence first; each name once. */
  readonly workflows?: readonly LoadedWorkflow[];
  /** By source: each condition of the settings, compiled. */
  readonly conditions?: ReadonlyMap<string, Condition>;
  /** True if the organisation has policies: no other rule may allow calls. */
  readonly onlyManagedAllow?: boolean;
  /** True while a rule, hook or word is invalid: it may be one that denies, so no rule allows calls. */
  readonly hasInvalidRules?: boolean;
  /** The origin of each value, by dotted key (`gateway.port`, `mcpServers.github.env.TOKEN`). A missing key is a default. */
  readonly origins: ReadonlyMap<string, ValueOrigin>;
  readonly problems: readonly Problem[];
  /** By path: the version of each folder whose content belongs to the configuration. */
  readonly watched?: ReadonlyMap<string, string>;
  /** The managed setting by which only the organisation may allow calls; absent on other machines. */
  readonly exclusive?: SourceLocation;
  /**
   * Resolves to true if a cached remote document has changed; loading again then gives another configuration. Cached
   * documents are used at once and fetched again in the background. Settles at the latest after the fetch timeout.
   */
  readonly refreshed: Promise<boolean>;
  /** Parts of the configuration that have no effect until the user trusts them. */
  readonly untrusted: readonly Untrusted[];
}
