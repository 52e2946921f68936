import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Input } from '../command.ts';

/** Parses the `--header` options into an object. */
export const headersOf = (input: Input): JsonObject | undefined =>
  pairs('header', input.texts('header'), /^([^:\s]+)\s*:\s*([\s\S]*)$/);

/** Parses a repeated option into an object. `form` captures the name and the value. */
export function pairs(option: string, words: readonly string[], form: RegExp): JsonObject | undefined {
  if (words.length === 0) return undefined;
  const found = words.map((word) => {
    const [, key, value] = form.exec(word) ?? [];
    if (key !== undefined && value !== undefined && key !== '__proto__') return [key, value] as const;
    // The message leaves out the argument: it may contain a secret.
    throw new HeddleError('USAGE_INVALID', `The value of --${option} is not a name and a value.`, {
      fix: option === 'env' ? 'Write `--env NAME=value`.' : "Write `--header 'Name: value'`.",
    });
  });
  return Object.fromEntries(found);
}
