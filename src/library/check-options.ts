import { HeddleError } from '../core/errors.ts';

/** The keys of an options object. The type requires all of them. */
export type OptionKeys<Options> = Readonly<Record<keyof Options, true>>;

/** Ends the wait of a request. */
export interface SignalOptions {
  readonly signal?: AbortSignal;
}

export const SIGNAL_KEYS: OptionKeys<SignalOptions> = { signal: true };

/**
 * Returns the options of a library function, by default none. Throws USAGE_INVALID for an unknown key and for an
 * AbortSignal in the place of `{ signal }`: ignored silently, a limit or a cancellation would be lost.
 */
export function checkOptions<Options extends object>(
  name: string,
  options: Options | undefined,
  keys: OptionKeys<Options>,
): Options {
  if (options === undefined) return {} as Options; // Every option is optional.
  if (typeof options !== 'object' || options === null) {
    throw invalidOptions(`The options of \`${name}\` are not an object.`, keys);
  }
  if ('aborted' in options) {
    throw new HeddleError('USAGE_INVALID', `\`${name}\` takes options, not an AbortSignal.`, {
      fix: 'Pass the signal as `{ signal }`.',
    });
  }
  for (const key of Object.keys(options)) {
    if (!Object.hasOwn(keys, key)) throw invalidOptions(`\`${name}\` has no option \`${key}\`.`, keys);
  }
  return options;
}

const invalidOptions = (message: string, keys: object) =>
  new HeddleError('USAGE_INVALID', message, { fix: `Use ${Object.keys(keys).join(', ')}.` });
