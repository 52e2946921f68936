import type { Json } from '../core/call.ts';

/**
 * The effect of a loss on the arguments. `wider`: the dialect accepts arguments that the tool refuses.
 * `narrower`: it refuses arguments that the tool accepts. `note`: the same arguments, less documentation.
 */
export type LossEffect = 'wider' | 'narrower' | 'note';

/** A part of a definition that a translation could not carry over. */
export interface Loss {
  /** The JSON pointer into the definition that was translated. */
  readonly pointer: string;
  readonly keyword: string;
  readonly effect: LossEffect;
  /** The reason, as a sentence. */
  readonly reason: string;
}

export interface Translated<T> {
  readonly value: T;
  readonly lost: readonly Loss[];
}

/** A tool in a model's dialect, and the conversion of the model's arguments. */
export interface TranslatedTool<T> extends Translated<T> {
  /** Converts the model's arguments to those of the tool. Returns invalid parts unchanged. */
  toArguments(modelArguments: Json): Json;
}

export type AddLoss = (pointer: string, keyword: string, effect: LossEffect, why: string) => void;

export interface LossBook {
  readonly add: AddLoss;
  all(): readonly Loss[];
}

// A hostile schema must not produce an endless list.
const MAX_LOSSES = 1_000;

/** Collects losses, without repeats. */
export function lossBook(): LossBook {
  const losses = new Map<string, Loss>();
  return {
    add(pointer, keyword, effect, why) {
      const key = `${pointer} ${keyword} ${effect}`;
      if (losses.size < MAX_LOSSES && !losses.has(key)) losses.set(key, { pointer, keyword, effect, reason: why });
    },
    all: () => [...losses.values()],
  };
}

/** Appends steps to a JSON pointer. */
export const below = (pointer: string, ...steps: readonly (string | number)[]): string =>
  [pointer, ...steps.map((step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
