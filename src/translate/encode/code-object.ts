import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Code } from './code.ts';

export interface CodedProperty {
  readonly original: string;
  readonly code: Code;
  readonly required: boolean;
}

export interface ObjectRules {
  /** True when optional properties are always present, and null when they are absent. */
  readonly nullMeansAbsent: boolean;
}

/** Encodes an object of known properties, by the names that the dialect uses. */
export function objectCode(
  schema: JsonObject,
  properties: ReadonlyMap<string, CodedProperty>,
  { nullMeansAbsent }: ObjectRules,
): Code {
  const isAbsent = (value: Json | undefined, required: boolean) =>
    value === undefined || (nullMeansAbsent && !required && value === null);
  return {
    schema,
    accepts(value, effort) {
      effort.spend();
      return (
        isObject(value) &&
        Object.keys(value).every((name) => properties.has(name)) &&
        [...properties].every(([name, { code, required }]) => {
          const part = Object.hasOwn(value, name) ? value[name] : undefined;
          return isAbsent(part, required) ? !required : code.accepts(part as Json, effort);
        })
      );
    },
    decode(value, effort) {
      effort.spend();
      if (!isObject(value)) return value;
      return Object.fromEntries(
        Object.entries(value).flatMap(([name, part]) => {
          const property = properties.get(name);
          if (!property) return [[name, part]];
          if (isAbsent(part, property.required)) return [];
          return [[property.original, property.code.decode(part as Json, effort)]];
        }),
      );
    },
  };
}

/** Encodes an object of unknown properties as a list of names and values. */
export function entriesCode(schema: JsonObject, entry: Code, limits: { min: number; max: number }): Code {
  const list = listCode(schema, entry, limits);
  return {
    ...list,
    decode(value, effort) {
      const entries = list.decode(value, effort);
      if (!Array.isArray(entries) || !entries.every(isEntry)) return value;
      return Object.fromEntries(entries.map(({ name, value: part }) => [name, part]));
    },
  };
}

const isEntry = (entry: Json): entry is { name: string; value: Json } =>
  isObject(entry) && typeof entry.name === 'string';

export function listCode(schema: JsonObject, item: Code, { min, max }: { min: number; max: number }): Code {
  return {
    schema,
    accepts(value, effort) {
      effort.spend();
      return (
        Array.isArray(value) &&
        value.length >= min &&
        value.length <= max &&
        value.every((one) => item.accepts(one, effort))
      );
    },
    decode(value, effort) {
      effort.spend();
      return Array.isArray(value) ? value.map((one) => item.decode(one, effort)) : value;
    },
  };
}

export const REST = 'rest';
export const itemName = (index: number): string => `item${index + 1}`;

/** Encodes a tuple as an object with a property for each place. */
export function tupleCode(object: Code, places: number): Code {
  return {
    ...object,
    decode(value, effort) {
      const items = object.decode(value, effort);
      if (!isObject(items)) return value;
      const names = Array.from({ length: places }, (_, index) => itemName(index));
      const end = names.findIndex((name) => items[name] === undefined);
      const rest = items[REST];
      const tail = Array.isArray(rest) ? rest : [];
      if (end < 0) return [...names.map((name) => items[name] as Json), ...tail];
      // Items after an absent one are dropped: a list has no gaps.
      const isHole = tail.length > 0 || names.slice(end).some((name) => items[name] !== undefined);
      return isHole ? value : names.slice(0, end).map((name) => items[name] as Json);
    },
  };
}
