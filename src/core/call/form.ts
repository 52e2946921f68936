import type { Json, JsonObject } from '../call.ts';
import { HeddleError } from '../errors.ts';
import { isObject } from '../json.ts';

/** A field of an elicitation form. */
export interface Field {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
  readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'choices';
  /** The options of a choice; empty for other kinds. */
  readonly choices: readonly Choice[];
  /** The bounds of a text's length, of a number, or of how many options are chosen. */
  readonly min?: number;
  readonly max?: number;
  readonly format?: string;
  readonly default?: Json;
}

export interface Choice {
  readonly value: string;
  readonly title: string;
}

const MAX_FIELDS = 100;
const MAX_CHOICES = 1000;
const MAX_SCHEMA_CHARS = 65_536;
const MAX_TEXT_CHARS = 65_536;

/** Reads the fields of a form from the flat schema that MCP allows. Returns a message if the schema is invalid. */
export function readForm(schema: unknown): readonly Field[] | string {
  if (!isObject(schema) || schema.type !== 'object' || !isObject(schema.properties)) {
    return 'its schema has to be an object with properties';
  }
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS)
    return `its schema is longer than ${MAX_SCHEMA_CHARS} characters`;
  const entries = Object.entries(schema.properties);
  if (entries.length > MAX_FIELDS) return `it has more than ${MAX_FIELDS} fields`;
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const fields: Field[] = [];
  for (const [name, property] of entries) {
    const field = isObject(property) ? readField(name, property, required.includes(name)) : undefined;
    if (!field) return `its field ${name} is none of text, number, yes or no, and choices`;
    if (field.choices.length > MAX_CHOICES) return `its field ${name} has more than ${MAX_CHOICES} choices`;
    fields.push(field);
  }
  const missing = required.find((name) => !fields.some((field) => field.name === name));
  return missing === undefined ? fields : `it requires ${String(missing)}, which it does not describe`;
}

function readField(name: string, property: JsonObject, required: boolean): Field | undefined {
  const kind = kindOf(property);
  if (!kind) return undefined;
  const { title, description, format } = property;
  const [min, max] = boundsOf(kind, property);
  return {
    name,
    required,
    kind,
    choices:
      kind === 'choice' ? choicesOf(property) : kind === 'choices' ? choicesOf(property.items as JsonObject) : [],
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    ...(typeof format === 'string' && { format }),
    ...(typeof min === 'number' && { min }),
    ...(typeof max === 'number' && { max }),
    ...(property.default !== undefined && { default: property.default }),
  };
}

function kindOf(property: JsonObject): Field['kind'] | undefined {
  const { type, items } = property;
  if (type === 'string') return choicesOf(property).length > 0 ? 'choice' : 'text';
  if (type === 'number' || type === 'integer' || type === 'boolean') return type;
  return type === 'array' && isObject(items) && choicesOf(items).length > 0 ? 'choices' : undefined;
}

function boundsOf(kind: Field['kind'], property: JsonObject): readonly (Json | undefined)[] {
  if (kind === 'text') return [property.minLength, property.maxLength];
  return kind === 'choices' ? [property.minItems, property.maxItems] : [property.minimum, property.maximum];
}

/** Reads the options of a choice. MCP versions write them as `enum`, `enum` with `enumNames`, `oneOf` or `anyOf`. */
function choicesOf({ enum: values, enumNames, oneOf, anyOf }: JsonObject): readonly Choice[] {
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined;
  if (titled) {
    return titled.flatMap((one: unknown) =>
      isObject(one) && typeof one.const === 'string' ? [{ value: one.const, title: textOr(one.title, one.const) }] : [],
    );
  }
  if (!Array.isArray(values)) return [];
  const names: readonly unknown[] = Array.isArray(enumNames) ? enumNames : [];
  return values.flatMap((value: unknown, at) =>
    typeof value === 'string' ? [{ value, title: textOr(names[at], value) }] : [],
  );
}

const textOr = (text: unknown, otherwise: string): string => (typeof text === 'string' ? text : otherwise);

/** Returns the values of the form's own fields, with defaults for missing ones. Throws INPUT_INVALID with the field's name. */
export function fillForm(fields: readonly Field[], content: JsonObject): JsonObject {
  return Object.fromEntries(
    fields.flatMap((field): (readonly [string, Json])[] => {
      const given = Object.hasOwn(content, field.name) ? content[field.name] : undefined;
      const value = given ?? field.default;
      if (value === undefined && !field.required) return [];
      const wrong = value === undefined ? 'is missing' : wrongValue(field, value);
      if (wrong) throw invalidField(field, wrong);
      return [[field.name, value as Json]];
    }),
  );
}

/** Returns the reason why a value is invalid for a field, or undefined. */
export function wrongValue(field: Field, value: Json): string | undefined {
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? wrongText(field, value) : 'has to be text';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'has to be true or false';
    case 'choice':
      return isChoice(field, value)
        ? undefined
        : `has to be one of ${field.choices.map((one) => one.value).join(', ')}`;
    case 'choices':
      return wrongChoices(field, value);
    default:
      return wrongNumber(field, value);
  }
}

function wrongText({ min = 0, max = MAX_TEXT_CHARS, format }: Field, text: string): string | undefined {
  const { length } = [...text];
  if (length < min) return `has to have at least ${min} ${min === 1 ? 'character' : 'characters'}`;
  if (length > max) return `may have at most ${max} characters`;
  const fits = format !== undefined && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  return fits === undefined || fits[1](text) ? undefined : `has to be ${fits[0]}`;
}

function wrongNumber({ kind, min, max }: Field, value: Json): string | undefined {
  if (typeof value !== 'number') return 'has to be a number';
  if (kind === 'integer' && !Number.isInteger(value)) return 'has to be a whole number';
  if (min !== undefined && value < min) return `has to be at least ${min}`;
  return max !== undefined && value > max ? `may be at most ${max}` : undefined;
}

function wrongChoices(field: Field, value: Json): string | undefined {
  const { min = 0, max = field.choices.length, choices } = field;
  if (!Array.isArray(value) || !value.every((one: Json) => isChoice(field, one))) {
    return `has to be a list of some of ${choices.map((one) => one.value).join(', ')}`;
  }
  const chosen = new Set(value).size;
  if (chosen !== value.length) return 'may name each choice only once';
  if (chosen < min) return `has to have at least ${min}`;
  return chosen > max ? `may have at most ${max}` : undefined;
}

const isChoice = ({ choices }: Field, value: Json): boolean => choices.some((one) => one.value === value);

const MAX_EMAIL_CHARS = 320;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const isDay = (text: string) => {
  const time = Date.parse(`${text.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text.slice(0, 10)); // Not the 31st of April.
};

/** The name of each string format for messages, and its check. */
const FORMATS: Readonly<Record<string, readonly [string, (text: string) => boolean]>> = {
  email: [
    'an e-mail address',
    (text) => text.length <= MAX_EMAIL_CHARS && /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/.test(text),
  ],
  uri: ['a URI', (text) => URL.canParse(text)],
  date: ['a date like 2026-01-31', (text) => DATE.test(text) && isDay(text)],
  'date-time': [
    'a time like 2026-01-31T12:00:00Z',
    (text) => DATE_TIME.test(text) && isDay(text) && !Number.isNaN(Date.parse(text)),
  ],
};

const invalidField = ({ name }: Field, wrong: string) =>
  new HeddleError('INPUT_INVALID', `The answer cannot be passed on: ${name} ${wrong}.`, {
    fix: `Answer again, with another ${name}.`,
    details: { field: name },
  });
