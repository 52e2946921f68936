import type { Json, JsonObject } from '../../core/call.ts';
import type { ArgumentSchema } from './coerce.ts';
import { branchesOf, typesOf } from './declared-arguments.ts';

const MAX_CHOICES = 8;

const TYPES: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['text', 'texts'],
  number: ['a number', 'numbers'],
  integer: ['a whole number', 'whole numbers'],
  boolean: ['true or false', 'true or false'],
  null: ['null', 'nulls'],
  object: ['an object as JSON', 'objects as JSON'],
};

/** Describes the values that a schema wants, in the words of an error message. */
export function wantedOf({ root, schema }: ArgumentSchema): string {
  const wanted = branchesOf(root, schema).flatMap((branch) => {
    const choices = writtenChoices(branch);
    if (choices.length > 0) return [listed(choices)];
    return typesOf(branch).map((type) => (type === 'array' ? wantedList(root, branch) : (TYPES[type]?.[0] ?? type)));
  });
  return [...new Set(wanted)].join(' or ') || 'another value';
}

function wantedList(root: Json | undefined, { items }: JsonObject): string {
  const branches = branchesOf(root, Array.isArray(items) ? undefined : items);
  const elements = branches.flatMap((branch) => {
    const choices = writtenChoices(branch);
    return choices.length > 0 ? [listed(choices)] : typesOf(branch).map((type) => TYPES[type]?.[1] ?? 'lists as JSON');
  });
  return elements.length === 0 ? 'a list' : `a list of ${[...new Set(elements)].join(' or ')}`;
}

/** Returns the texts that a schema enumerates, for itself or for its elements. */
export function choicesOf({ root, schema }: ArgumentSchema): readonly string[] {
  const branches = branchesOf(root, schema);
  const elements = branches.flatMap(({ items }) => branchesOf(root, Array.isArray(items) ? undefined : items));
  return [...branches, ...elements].flatMap(writtenChoices);
}

function writtenChoices({ enum: list, const: only }: JsonObject): readonly string[] {
  const values: readonly Json[] = Array.isArray(list) ? list : only === undefined ? [] : [only];
  return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
}

function listed(choices: readonly string[]): string {
  if (choices.length === 1) return String(choices[0]);
  const more = choices.length > MAX_CHOICES ? ` and ${choices.length - MAX_CHOICES} more` : '';
  return `one of ${choices.slice(0, MAX_CHOICES).join(', ')}${more}`;
}
