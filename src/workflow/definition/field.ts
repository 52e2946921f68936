import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { childOf, type SourceValue } from './compilation.ts';

/** A kind of value in a definition: reads it, and describes it as JSON Schema. */
export interface SourceField<T> {
  readonly schema: JsonObject;
  /** Returns undefined after it has reported a problem. */
  read(at: SourceValue): T | undefined;
}

export type SourceFields = Readonly<Record<string, SourceField<unknown>>>;
export type FieldValues<F extends SourceFields> = {
  readonly [K in keyof F]?: F[K] extends SourceField<infer T> ? T : never;
};
export type WithRequired<F extends SourceFields, R extends keyof F> = FieldValues<F> & {
  readonly [K in R]: F[K] extends SourceField<infer T> ? T : never;
};

const MAX_SHOWN = 60;

/** Shows a value of a definition in a message. */
export function shownValue(value: Json): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return oneLine(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

/** Reports a value that is not of the expected kind. */
export const refuse = (at: SourceValue, expected: string, fix = `Write ${expected}.`): undefined =>
  at.in.report(at, {
    code: 'VALUE_INVALID',
    message: `${nameOf(at)} is \`${shownValue(at.value)}\`, not ${expected}.`,
    fix,
  });

const nameOf = ({ path }: SourceValue): string => {
  const key = path.findLast((part) => typeof part === 'string');
  return key === undefined ? 'The definition' : `\`${shownValue(key)}\``;
};

interface TextOptions {
  readonly pattern?: RegExp;
  readonly min?: number;
  readonly max?: number;
  /** The kind of text for messages: `a name of letters and digits`. */
  readonly is?: string;
  readonly about?: string;
}

export const textField = ({
  pattern,
  min = 1,
  max = 10_000,
  is = 'a text',
  about,
}: TextOptions = {}): SourceField<string> => ({
  schema: {
    type: 'string',
    minLength: min,
    maxLength: max,
    ...(pattern && { pattern: pattern.source }),
    ...(about !== undefined && { description: about }),
  },
  read(at) {
    const { value } = at;
    if (typeof value === 'number' || typeof value === 'boolean') return refuse(at, is, 'Put the value in quotes.');
    if (typeof value !== 'string' || value.length < min || value.length > max) return refuse(at, is);
    return pattern && !pattern.test(value) ? refuse(at, is) : value;
  },
});

export const flagField = (about: string): SourceField<boolean> => ({
  schema: { type: 'boolean', description: about },
  read: (at) => (typeof at.value === 'boolean' ? at.value : refuse(at, 'true or false')),
});

/** A whole number in a range. */
export const countField = (least: number, most: number, about: string): SourceField<number> => ({
  schema: { type: 'integer', minimum: least, maximum: most, description: about },
  read(at) {
    const isRight = Number.isInteger(at.value) && Number(at.value) >= least && Number(at.value) <= most;
    return isRight ? Number(at.value) : refuse(at, `a whole number from ${least} to ${most}`);
  },
});

export const choiceField = <const T extends string>(options: readonly T[], about: string): SourceField<T> => ({
  schema: { enum: [...options], description: about },
  read(at) {
    const found = options.find((option) => option === at.value);
    if (found !== undefined) return found;
    const near = typeof at.value === 'string' ? closest(at.value, options) : undefined;
    return refuse(at, `one of ${options.join(', ')}`, near && `Did you mean \`${near}\`?`);
  },
});

/** A JSON value that is used as it is. */
export const jsonField = (about: string): SourceField<JsonObject> => ({
  schema: { type: 'object', description: about },
  read: (at) => (isObject(at.value) ? at.value : refuse(at, 'an object')),
});

export const listField = <T>(
  field: SourceField<T>,
  { min, max }: { min: number; max: number },
): SourceField<readonly T[]> => ({
  schema: { type: 'array', items: field.schema, minItems: min, maxItems: max },
  read(at) {
    const { value } = at;
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      return refuse(at, `a list of ${min} to ${max} items`);
    }
    return value.flatMap((item: Json, index) => field.read(childOf(at, index, item)) ?? []);
  },
});

/** A field whose schema is defined under a name, for recursion. */
export const namedField = <T>(name: string, read: SourceField<T>['read']): SourceField<T> => ({
  schema: { $ref: `#/$defs/${name}` },
  read,
});

/** Adds a description to a field. */
export const described = <T>(field: SourceField<T>, description: string): SourceField<T> => ({
  schema: { ...field.schema, description },
  read: field.read,
});
