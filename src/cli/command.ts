import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util';
import { HeddleError } from '../core/errors.ts';
import { closest } from '../core/text/did-you-mean.ts';

export interface Option extends ParseArgsOptionDescriptor {
  readonly type: 'string' | 'boolean';
  readonly help: string;
  /** Placeholder for the value in the help text. */
  readonly value?: string;
}

/** A subcommand: its help texts and its action. */
export interface Command {
  readonly summary: string;
  readonly usage: string;
  /** Lines below the options in the help text. */
  readonly notes?: readonly string[];
  readonly examples: readonly string[];
  readonly options: Readonly<Record<string, Option>>;
  /** Largest number of positional arguments. Default: 0. */
  readonly maxPositionals?: number;
  /** True if the command acts for no caller, so that an API key has no meaning for it. */
  readonly hasNoCaller?: true;
  /** Returns the command line that was probably meant by a wrong one. */
  readonly meant?: (argv: readonly string[]) => string | undefined;
  /** Resolves to the exit code. */
  run(input: Input): Promise<number>;
}

export interface Input {
  readonly positionals: readonly string[];
  /** The arguments after `--`; undefined without `--`. */
  readonly rest: readonly string[] | undefined;
  text(name: string): string | undefined;
  /** Returns all values of a repeatable option. */
  texts(name: string): readonly string[];
  flag(name: string): boolean;
}

export const CONFIG_OPTION: Option = {
  type: 'string',
  value: 'FILE',
  help: 'Read this configuration file and no other',
};
export const TRUST_OPTION: Option = {
  type: 'boolean',
  help: 'Trust the servers and settings of the project without asking (for CI)',
};
/** The variable with the API key that a command acts as. */
export const KEY_VARIABLE = 'HEDDLE_KEY';
/** The options of commands that may use a running gateway. `--key` names a file: other users see arguments of a process. */
export const GATEWAY_OPTIONS: Readonly<Record<'key' | 'local' | 'verbose', Option>> = {
  key: {
    type: 'string',
    value: 'FILE',
    help: `Act as the API key in this file, through a gateway; - reads stdin (default: ${KEY_VARIABLE})`,
  },
  local: { type: 'boolean', help: 'Start the servers here, also while a gateway is running' },
  verbose: { type: 'boolean', short: 'v', help: 'Say on stderr whether a running gateway is used' },
};
export const JSON_OPTION: Option = { type: 'boolean', help: 'Print JSON' };
const HELP_OPTION: Option = { type: 'boolean', short: 'h', help: 'Show this help' };

/** Parses the arguments of a command. Throws USAGE_INVALID for an unknown option or too many positionals. */
export function readInput({ options, maxPositionals = 0, usage }: Command, argv: readonly string[]): Input {
  const terminator = argv.indexOf('--');
  const own = terminator < 0 ? argv : argv.slice(0, terminator);
  const all = { ...options, help: HELP_OPTION };
  let read: ReturnType<typeof parseArgs>;
  try {
    read = parseArgs({ args: [...own], options: all, allowPositionals: true, strict: true });
  } catch (cause) {
    throw toUsageError(cause, Object.keys(all));
  }
  const { values, positionals } = read;
  if (positionals.length > maxPositionals) {
    throw new HeddleError('USAGE_INVALID', `${positionals[maxPositionals]} is one word too many.`, {
      fix: `Usage: ${usage}; --help shows an example.`,
    });
  }
  return {
    positionals,
    rest: terminator < 0 ? undefined : argv.slice(terminator + 1),
    text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
    texts: (name) => [values[name] ?? []].flat().filter((value) => typeof value === 'string'),
    flag: (name) => values[name] === true,
  };
}

function toUsageError(cause: unknown, known: readonly string[]): HeddleError {
  const text = cause instanceof Error ? cause.message : String(cause);
  const [, typed, unknown] = /^Unknown option '(-+([^']+))'/.exec(text) ?? [];
  if (unknown === undefined) return new HeddleError('USAGE_INVALID', text, { cause });
  const guess = closest(unknown, known);
  return new HeddleError('USAGE_INVALID', `There is no option ${typed}.`, {
    cause,
    ...(guess && { fix: `Did you mean --${guess}?` }),
  });
}

/** Parses a whole number up to `max`. Throws USAGE_INVALID. */
export function readNumber(name: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= max) return value;
  throw new HeddleError('USAGE_INVALID', `--${name} has to be a whole number up to ${max}, not ${text}.`);
}

export function helpOf({ usage, summary, options, notes = [], examples }: Command): string {
  const all = { ...options, help: HELP_OPTION };
  const rows = Object.entries(all).map(([name, { value, short, help }]) => {
    const long = `--${name}${value ? ` ${value}` : ''}`;
    return [short ? `-${short}, ${long}` : long, help] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  return [
    summary,
    '',
    `Usage: ${usage}`,
    '',
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    '',
    ...(notes.length > 0 ? [...notes, ''] : []),
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map((example) => `  ${example}`),
    '',
  ].join('\n');
}
