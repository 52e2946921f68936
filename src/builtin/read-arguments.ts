import type { Json, JsonObject } from '../core/call.ts';
import { quote, ToolFailure } from './tool-failure.ts';

interface IntegerRange {
  readonly min: number;
  readonly max?: number;
}

/** Reads the arguments of a tool by type. Each reader throws a `ToolFailure` that names the argument. */
export interface Arguments {
  text(name: string): string | undefined;
  choice<T extends string>(name: string, choices: readonly T[]): T | undefined;
  integer(name: string, range: IntegerRange): number | undefined;
  flag(name: string): boolean | undefined;
}

/** Returns readers for the arguments of a tool. Throws a `ToolFailure` for an argument name that is not in `known`. */
export function readToolArguments(input: JsonObject, known: readonly string[]): Arguments {
  const unknown = Object.keys(input).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new ToolFailure(`There is no argument ${quote(unknown)}. The arguments are: ${known.join(', ')}.`);
  }
  // Callers may send null for an optional argument.
  const argument = (name: string) => input[name] ?? undefined;
  return {
    text(name) {
      const value = argument(name);
      if (value === undefined || typeof value === 'string') return value;
      throw wrong(name, 'a string', value);
    },
    choice(name, choices) {
      const value = argument(name);
      if (value === undefined) return undefined;
      const chosen = choices.find((one) => one === value);
      if (chosen === undefined) throw wrong(name, `one of ${choices.map(quote).join(', ')}`, value);
      return chosen;
    },
    integer(name, { min, max = Number.MAX_SAFE_INTEGER }) {
      const value = argument(name);
      if (value === undefined) return undefined;
      if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
      throw wrong(name, `a whole number from ${min} to ${max}`, value);
    },
    flag(name) {
      const value = argument(name);
      if (value === undefined || typeof value === 'boolean') return value;
      throw wrong(name, 'true or false', value);
    },
  };
}

function wrong(name: string, expected: string, value: Json): ToolFailure {
  return new ToolFailure(`The argument "${name}" has to be ${expected}, not ${JSON.stringify(value).slice(0, 80)}.`);
}
