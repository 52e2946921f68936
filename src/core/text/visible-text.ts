// Control, format, bidi, zero-width, variation, filler and tag characters, the empty Braille pattern, line separators,
// and lone surrogates.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/v;
// Emoji come first: in a well-formed one the joiners and selectors are seen. A pile of accents covers other lines.
const SHOWN_OR_UNSEEN =
  /\p{RGI_Emoji}|[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]--[\t\n]]|(?<=\p{Mn}{4})\p{Mn}/gv;
const PLAIN_ARGUMENT = /^[A-Za-z0-9_@%+=:,.\/\-]+$/v;
const PLAIN_NAME = /^(?!-)[[\p{L}\p{N}_@%+=:,.\/\-]--\p{Default_Ignorable_Code_Point}]+$/v;
// Includes blanks other than the ordinary space: in a command they look like the end of an argument.
const NEEDS_ESCAPE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Mn}\u2800]|[\p{Zs}--[ ]]/gv;
const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };

const codeOf = (character: string): string => (character.codePointAt(0) ?? 0).toString(16);

/** Escapes invisible and control characters, except tab, newline and those in whole emoji. */
export const escapeControlCharacters = (text: string): string =>
  text.replace(SHOWN_OR_UNSEEN, (found) =>
    [...found].length > 1 || !(UNSEEN.test(found) || /^\p{Mn}/u.test(found))
      ? found
      : `\\u{${codeOf(found).padStart(4, '0')}}`,
  );

/** Escapes text for one line: line breaks and tabs become `\\n` and `\\t`. */
export const oneLine = (text: string): string =>
  escapeControlCharacters(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');

/** Quotes a command for a POSIX shell, on one line and without invisible characters. */
export const quoteCommand = (args: readonly string[]): string => args.map(quoteArgument).join(' ');

function quoteArgument(word: string): string {
  if (PLAIN_ARGUMENT.test(word)) return word;
  return word.search(NEEDS_ESCAPE) < 0 ? `'${word.replaceAll("'", String.raw`'\''`)}'` : quoteWithEscapes(word);
}

/** Quotes a word as `$'…'`, with the escapes of bash and zsh. */
function quoteWithEscapes(word: string): string {
  const escaped = word
    .replace(/[\\']/g, String.raw`\$&`)
    .replaceAll('`', String.raw`\x60`)
    .replace(NEEDS_ESCAPE, (character) => {
      const code = codeOf(character);
      return (
        SHORT_ESCAPES[character] ?? (code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`)
      );
    });
  return `$'${escaped}'`;
}

/**
 * Returns a name of a server or file for advice and suggested commands. A plain name stays as it is. Any other is quoted:
 * no backtick, quote or blank in it can end the quotes and look like words of Heddle.
 */
export function quoteName(name: string): string {
  if (PLAIN_NAME.test(name)) return name;
  return /[`']/.test(name) || name.search(NEEDS_ESCAPE) >= 0 ? quoteWithEscapes(name) : `'${name}'`;
}

/** Escapes invisible characters in a JSON text. The parsed value stays the same. */
export const escapeJson = (text: string): string =>
  text.replace(SHOWN_OR_UNSEEN, (found) =>
    [...found].length > 1 || !UNSEEN.test(found)
      ? found
      : Array.from(
          { length: found.length },
          (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`,
        ).join(''),
  );
