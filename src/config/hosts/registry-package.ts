import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type HostReference, heddle, type Syntax, translate, variableNamed } from './template.ts';

/** The syntax `{name}`, with a `variables` object that describes each name. */
export const curly: Syntax = {
  pattern: /\{([A-Za-z_][A-Za-z0-9_-]*)\}/g,
  read: ([, id = '']): HostReference => ({ kind: 'input', id }),
  print: (reference) =>
    // Only names that are the same after import and export.
    reference.kind === 'variable' &&
    reference.fallback === undefined &&
    variableNamed(reference.name) === reference.name
      ? `{${reference.name}}`
      : undefined,
};

export type Note = (text: string) => void;
export const objects = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];
export const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
/** Returns a field under its camelCase name, or under the snake_case name of the first schema. */
export const byEitherName = (from: JsonObject, name: string): Json | undefined =>
  from[name] ?? from[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];

/** Returns the value of an argument, a header or a variable; undefined if it is optional and has none. */
export function settingOf(input: JsonObject, name: string, note: Note): string | undefined {
  const value = textOf(input.value);
  if (value !== undefined) return toHeddleSyntax(value, input, note);
  if (
    byEitherName(input, 'isRequired') === true ||
    byEitherName(input, 'isSecret') === true ||
    input.default !== undefined
  ) {
    const fallback = textOf(input.default);
    const variable = variableNamed(name);
    const secret = byEitherName(input, 'isSecret') === true ? ', a secret' : '';
    if (fallback === undefined) note(`\`${name}\` is read from the variable \`${variable}\`${secret}. Set it.`);
    return fallback === undefined || /[{}$]/.test(fallback) ? `\${${variable}}` : `\${${variable}:-${fallback}}`;
  }
  note(`\`${name}\` is optional and not set.`);
  return undefined;
}

function toHeddleSyntax(value: string, { variables }: JsonObject, note: Note): string | undefined {
  const known = isObject(variables) ? variables : {};
  const syntax: Syntax = {
    ...curly,
    read: (match) => (Object.hasOwn(known, match[1] ?? '') ? curly.read(match) : match[0]),
  };
  const translated = translate(value, syntax, heddle);
  if ('lost' in translated) return undefined;
  for (const id of translated.inputs) note(`\`${id}\` is read from the variable \`${variableNamed(id)}\`. Set it.`);
  return translated.text;
}

/** Converts `packageArguments` and `runtimeArguments` to command line arguments. */
export function argumentsOf(list: Json | undefined, note: Note): readonly string[] {
  return objects(list).flatMap((argument) => {
    const name = textOf(argument.name);
    const hint = textOf(byEitherName(argument, 'valueHint')) ?? name ?? 'argument';
    const bare = argument.type === 'named' && argument.value === undefined && argument.default === undefined;
    if (name !== undefined && bare && byEitherName(argument, 'isRequired') !== true) return [name];
    const value = settingOf(argument, hint.replace(/^-+/, ''), note);
    if (value === undefined) return [];
    return argument.type === 'named' && name !== undefined ? [name, value] : [value];
  });
}

/** Converts `environmentVariables` and `headers` to a map. */
export function namedValues(list: Json | undefined, note: Note): Readonly<Record<string, string>> {
  const pairs = objects(list).flatMap((input) => {
    const name = textOf(input.name);
    const value = name === undefined ? undefined : settingOf(input, name, note);
    return name === undefined || value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(pairs);
}
