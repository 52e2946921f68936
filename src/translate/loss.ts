import type { Json } from '../core/call.ts';

/**
 * What it does to the arguments. `wider`: some that the tool refuses look right to the model.
 * `narrower`: some that the tool takes can no longer be said. `note`: only the reader knows less.
 */
export type LossEffect = 'wider' | 'narrower' | 'note';

/** One thing that a translation could not carry over. */
export interface Loss {
  /** Where it stood: a JSON pointer into the definition that was translated. */
  readonly pointer: string;
  readonly keyword: string;
  readonly effect: LossEffect;
  /** One sentence. */
  readonly reason: string;
}

export interface Translated<T> {
  readonly value: T;
  readonly lost: readonly Loss[];
}

/** A tool in a model's dialect, and the way back for what the model answers. */
export interface TranslatedTool<T> extends Translated<T> {
  /** The model's arguments as the tool itself wants them. What does not fit comes back as it was. */
  toArguments(modelArguments: Json): Json;
}

export type AddLoss = (pointer: string, keyword: string, effect: LossEffect, why: string) => void;

export interface LossBook {
  readonly add: AddLoss;
  all(): readonly Loss[];
}

// A hostile schema must not turn into an endless list.
const MAX_LOSSES = 1_000;

/** Collects losses, each once. */
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

/** One step further down a JSON pointer. */
export const below = (pointer: string, ...steps: readonly (string | number)[]): string =>
  [pointer, ...steps.map((step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
