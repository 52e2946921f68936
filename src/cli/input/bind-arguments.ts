import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import { type ArgumentSchema, type ArgumentText, coerce, coerceList } from './coerce.ts';
import { type DeclaredArguments, declaredArguments } from './declared-arguments.ts';
import type { TypedArguments } from './read-arguments.ts';
import { choicesOf, wantedOf } from './wanted-value.ts';

/** The tool or prompt that the arguments are for. */
export interface Signed {
  /** The name as the user typed it. */
  readonly name: string;
  readonly inputSchema: Json | undefined;
  /** Shown in errors: `get-sum(a: number, b: number)`. */
  readonly signature: string;
}

/**
 * Builds the arguments of a call: texts are converted as the schema wants, and override the object of `--args`.
 * Throws INPUT_INVALID for a misspelt name, and for a text that cannot be converted.
 */
export function bindArguments({ whole, named }: TypedArguments, target: Signed): JsonObject {
  const declared = declaredArguments(target.inputSchema);
  const input: Record<string, Json | undefined> = { ...whole };
  for (const key of named.keys())
    requireDeclared(key, { declared, target, given: [...Object.keys(whole), ...named.keys()] });
  for (const [key, argument] of named) {
    input[key] = 'json' in argument ? argument.json : bindTexts(key, argument.texts, { declared, target });
  }
  return input;
}

interface Binding {
  readonly declared: DeclaredArguments;
  readonly target: Signed;
}

/** Throws for a name that the schema refuses. If it accepts any name, only for a misspelt required one. */
function requireDeclared(
  key: string,
  { declared, target, given }: Binding & { readonly given: readonly string[] },
): void {
  const { names, required, isClosed } = declared;
  if (names.includes(key)) return;
  const absent = names.filter((name) => !given.includes(name));
  const guess = closest(key, isClosed ? absent : absent.filter((name) => required.includes(name)));
  if (!isClosed && guess === undefined) return;
  const takes = names.length === 0 ? 'It takes no arguments.' : `It takes ${target.signature}.`;
  throw new HeddleError('INPUT_INVALID', `${key} is not an argument of ${target.name}.`, {
    fix: guess === undefined ? takes : `Did you mean ${quoteName(guess)}?`,
  });
}

function bindTexts(key: string, texts: readonly ArgumentText[], { declared, target }: Binding): Json {
  const schemas = declared.schemasOf(key);
  const wanted: ArgumentSchema = {
    root: target.inputSchema,
    schema: schemas.length > 1 ? { anyOf: schemas } : schemas[0],
  };
  const [first, ...others] = texts;
  const value = first && others.length === 0 ? coerce(first, wanted) : coerceList(texts, wanted);
  if (value !== undefined) return value;
  throw unfit(key, texts, { wanted, target });
}

const MAX_SHOWN = 60;

function unfit(
  key: string,
  texts: readonly ArgumentText[],
  { wanted, target }: { readonly wanted: ArgumentSchema; readonly target: Signed },
): HeddleError {
  const guess = closest(texts[0]?.text ?? '', choicesOf(wanted));
  return new HeddleError('INPUT_INVALID', `${key} wants ${wantedOf(wanted)}, got ${texts.map(shown).join(' and ')}.`, {
    fix: guess === undefined ? `It takes ${target.signature}.` : `Did you mean ${quoteName(guess)}?`,
  });
}

function shown({ text, file }: ArgumentText): string {
  if (file !== undefined) return file === '-' ? 'the text of stdin' : `the text of ${file}`;
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}
