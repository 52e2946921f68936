import type { ErrorCode } from '../core/errors.ts';
import type { ServerEntry, Settings } from './schema.ts';

/** Where something is written; line and column count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Something wrong with the configuration. It is reported, never thrown: the rest goes on working. */
export interface Problem {
  readonly level: 'error' | 'warn';
  readonly code: Extract<ErrorCode, 'CONFIG_INVALID' | 'VARIABLE_UNSET'>;
  readonly message: string;
  readonly fix: string;
  readonly at?: Place;
  readonly server?: string;
}

/** Who says so. */
export type Scope = 'project' | 'user' | 'config' | 'command' | 'sdk' | 'builtin' | 'default';

/** The same thing written elsewhere too, and not in force. */
export interface Shadow {
  readonly scope: Scope;
  readonly at: Place;
}

/** Where a value in force comes from. */
export interface Origin extends Shadow {
  readonly shadowed: readonly Shadow[];
}

export interface ServerConfig {
  readonly name: string;
  readonly scope: Scope;
  readonly at?: Place;
  /** Expanded, checked, defaults filled; absent when broken, and then `problem` says why. */
  readonly entry?: ServerEntry;
  readonly problem?: Problem;
  readonly shadowed: readonly Shadow[];
}

export interface SourceFile {
  readonly file: string;
  readonly scope: Scope;
  readonly state: 'found' | 'broken' | 'absent';
}

/** Everything the files say, in force. */
export interface Config {
  readonly projectFolder: string;
  /** In order of precedence, those that do not exist included. */
  readonly files: readonly SourceFile[];
  readonly servers: ReadonlyMap<string, ServerConfig>;
  readonly settings: Settings;
  /** By dotted key (`gateway.port`, `mcpServers.github.env.TOKEN`): what is written somewhere. The rest is default. */
  readonly places: ReadonlyMap<string, Origin>;
  readonly problems: readonly Problem[];
}
