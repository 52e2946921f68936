import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Input } from '../command.ts';

/** What `--header` says, by name. */
export const headersOf = (input: Input): JsonObject | undefined =>
  pairs('header', input.texts('header'), /^([^:\s]+)\s*:\s*([\s\S]*)$/);

/** What a repeated option says: names and values, as `form` tells them apart. */
export function pairs(option: string, words: readonly string[], form: RegExp): JsonObject | undefined {
  if (words.length === 0) return undefined;
  const found = words.map((word) => {
    const [, key, value] = form.exec(word) ?? [];
    if (key !== undefined && value !== undefined && key !== '__proto__') return [key, value] as const;
    // Not the word itself: half of it may be a secret.
    throw new HeddleError('USAGE_INVALID', `What was given with --${option} has no name and value.`, {
      fix: option === 'env' ? 'Write `--env NAME=value`.' : "Write `--header 'Name: value'`.",
    });
  });
  return Object.fromEntries(found);
}
