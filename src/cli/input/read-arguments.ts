import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { ArgumentText } from './coerce.ts';
import { type TextSources, textSources } from './read-source.ts';

/** The arguments of a command line. Texts become values with the schema of their target: `bindArguments`. */
export interface TypedArguments {
  /** The object of `--args`. */
  readonly whole: JsonObject;
  /** By name: the value of `key:=json`, or the texts of one or more `key=text`. */
  readonly named: ReadonlyMap<string, NamedArgument>;
}

export type NamedArgument = { readonly json: Json } | { readonly texts: readonly ArgumentText[] };

/** An option that has all arguments as one JSON object. */
export interface WholeOption {
  /** `--args`, `--input` */
  readonly option: string;
  readonly text: string | undefined;
}

/** Parses `key=text`, `key=@file`, `key:=json`, `key:=@file`, and a JSON object from `--args`. Reads the files. */
export async function readArguments(
  words: readonly string[],
  whole: string | undefined | WholeOption,
  sources: TextSources = textSources(),
): Promise<TypedArguments> {
  const named = new Map<string, NamedArgument>();
  const { option, text: object } = typeof whole === 'object' ? whole : { option: '--args', text: whole };
  const read = { whole: object === undefined ? {} : await readWhole(object, sources, option), named };
  for (const word of words) {
    const [, key, typed, value] = /^([^:=]+)(:?)=([\s\S]*)$/.exec(word) ?? [];
    if (key === undefined || value === undefined) throw notAnArgument(word);
    if (key === '__proto__') throw notAnArgument(word);
    const text = await readText({ key, value, form: typed ? ':=' : '=' }, sources);
    if (typed) named.set(key, { json: readJson(text.text, `the value of ${key}`) });
    else named.set(key, { texts: [...textsIn(named.get(key)), text] });
  }
  return read;
}

const textsIn = (known: NamedArgument | undefined) => (known && 'texts' in known ? known.texts : []);

interface Word {
  readonly key: string;
  readonly form: '=' | ':=';
  readonly value: string;
}

async function readText({ key, value, form }: Word, sources: TextSources): Promise<ArgumentText> {
  if (!value.startsWith('@')) return { text: value };
  if (value.startsWith('@@') && form === '=') return { text: value.slice(1) };
  const path = value.slice(1);
  const literal = form === '=' ? ` Write ${key}=@${value} for the text ${value}.` : '';
  if (path === '') {
    const fix = `Write ${key}${form}@file.${literal}`;
    throw new HeddleError('USAGE_INVALID', `${key}${form}@ names no file.`, { fix });
  }
  return { text: await sources.read(path, `Check its path.${literal}`), file: path };
}

/** Reads `--args`: a JSON object, `@file`, or `-` for stdin. */
async function readWhole(whole: string, sources: TextSources, option: string): Promise<JsonObject> {
  const fix = `Write one JSON object: ${option} '{"key":"value"}'.`;
  const text =
    whole === '-' ? await sources.read('-') : whole.startsWith('@') ? await sources.read(whole.slice(1)) : whole;
  const value = readJson(text, option, fix);
  if (isObject(value)) return value;
  throw new HeddleError('INPUT_INVALID', `${option} is not a JSON object.`, { fix });
}

function readJson(text: string, what: string, fix = 'Use key=text for plain text.'): Json {
  try {
    return parseJson(text, { numbers: 'exact' });
  } catch (cause) {
    const reason = HeddleError.from(cause).message.replace('The JSON cannot be accepted: ', '');
    throw new HeddleError('INPUT_INVALID', `${what} is not JSON: ${reason}`, {
      cause,
      fix,
    });
  }
}

/** Returns the arguments with each text as it was typed, the last of a repeated one. */
export const unbound = ({ whole, named }: TypedArguments): JsonObject => ({
  ...whole,
  ...Object.fromEntries(
    [...named].map(([key, one]) => [key, 'json' in one ? one.json : (one.texts.at(-1)?.text ?? '')] as const),
  ),
});

export const notAnArgument = (word: string) =>
  new HeddleError('USAGE_INVALID', `${word} is not an argument.`, {
    fix: "Write key=value, key=@file or key:=json, or all arguments as --args '{…}'.",
  });
