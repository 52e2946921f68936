import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';

/** A source of configuration that a program names. The files of an organisation apply in any case. */
export type ConfigSource =
  | { readonly kind: 'config'; readonly path: string }
  | { readonly kind: 'environment' | 'standard' | 'manual' };

/** Returns the source for one file. Relative paths begin at `cwd`. */
export const fileSource = (path: string): ConfigSource => Object.freeze({ kind: 'config', path });

/** The variable `HEDDLE_MCP_SERVERS`. */
export const environmentSource: ConfigSource = Object.freeze({ kind: 'environment' });

/** All files, plugins, policies and workflows of the project and the user. */
export const standardSource: ConfigSource = Object.freeze({ kind: 'standard' });

/** No file: only the servers that the program passes or registers. */
export const manualSource: ConfigSource = Object.freeze({ kind: 'manual' });

/** The sources of a program or command that names none, highest precedence first. */
export const DEFAULT_SOURCES: readonly ConfigSource[] = [environmentSource, standardSource];

const KINDS: readonly unknown[] = ['environment', 'standard', 'manual'];

/** Throws USAGE_INVALID for anything but a list of sources: its rules must not be missing silently. */
export function requireSources(sources: unknown): void {
  if (Array.isArray(sources) && sources.every(isSource)) return;
  const message = Array.isArray(sources) ? '`sources` has an unknown source.' : '`sources` is not a list.';
  throw new HeddleError('USAGE_INVALID', message, {
    fix: 'Pass a list of config(path), environment, standard and manual.',
  });
}

const isSource = (source: unknown): boolean =>
  isObject(source) && (source.kind === 'config' ? typeof source.path === 'string' : KINDS.includes(source.kind));
