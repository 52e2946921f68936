import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { escapeControlCharacters, escapeJson, quoteCommand, quoteName } from './visible-text.ts';

const UNSEEN =
  '061c 00ad 034f 115f 1160 17b4 180b 180e 200b 200c 200d 200e 2028 2029 202e 2060 2066 206f 2800 3164 fe00 fe0f feff ffa0 fff9 1d173 e0001 e0041 e0100 e01ef';

it.each(UNSEEN.split(' '))('spells out U+%s', (code) => {
  const character = String.fromCodePoint(Number.parseInt(code, 16));
  expect(escapeControlCharacters(`a${character}b`)).toBe(`a\\u{${code}}b`);
  expect(JSON.parse(escapeJson(JSON.stringify(`a${character}b`)))).toBe(`a${character}b`);
  expect(escapeJson(`"a${character}b"`)).toMatch(/^[\x20-\x7e]*$/);
  expect(quoteCommand([`a${character}b`])).toMatch(/^[\x20-\x7e]*$/);
});

it('leaves letters, tabs, newlines and whole emoji as they are', () => {
  for (const text of ['ü ✓ 😀 عربي\t日本\n', '⚠️ ❤️ 👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣ 👍🏽', 'Việt ภาษา שָׁלוֹם'])
    expect(escapeControlCharacters(text)).toBe(text);
});

it('escapes joiners outside emoji, and the fifth and later accents of a letter', () => {
  expect(escapeControlCharacters('a\u200d😀\u200d')).toBe('a\\u{200d}😀\\u{200d}');
  expect(escapeControlCharacters(`e${'\u0301'.repeat(6)}`)).toBe(`e${'\u0301'.repeat(4)}\\u{0301}\\u{0301}`);
});

verifies('C11', 'a quoted command is read by a shell as the same arguments', () => {
  const word = fc.string({
    unit: fc.constantFrom('a', "'", '"', '\\', '$', ' ', '\n', '\t', '\u00a0', '\u202e', 'é', '😀', '`'),
  });
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
      const quoted = quoteCommand(words);
      expect(quoted).not.toContain('\n');
      const read = execFileSync('bash', ['--norc', '-c', `printf '%s\\0' ${quoted}`], { env: { LC_ALL: 'C.UTF-8' } });
      expect(read.toString().split('\0').slice(0, -1)).toEqual(words);
    }),
    { numRuns: 60 },
  );
});

verifies('L5', 'keeps a plain name in advice, and quotes any other so that nothing in it ends the quotes', () => {
  for (const plain of ['kinds.collect', 'note://a/b', 'größe', 'a-b', 'key:ci', 'x@1,2+3%=']) {
    expect(quoteName(plain)).toBe(plain);
  }
  expect(quoteName('a b')).toBe("'a b'");
  expect(quoteName('--yes')).toBe("'--yes'");
  expect(quoteName('$(touch${IFS}x)')).toBe("'$(touch${IFS}x)'");
  expect(quoteName("it's")).toBe(String.raw`$'it\'s'`);
  expect(quoteName('a. Run `sh`\n')).toBe(String.raw`$'a. Run \x60sh\x60\n'`);
  expect(quoteName('a\u3164b\u202e')).toBe(String.raw`$'a\u3164b\u202e'`);
  expect(quoteName('')).toBe("''");
});

verifies('L5', 'a quoted name has no backtick, and a shell reads it as the same word', () => {
  const name = fc.string({
    unit: fc.constantFrom('a', "'", '"', '\\', '$', ' ', '\n', '-', '\u3164', '`', '(', 'x60'),
  });
  fc.assert(
    fc.property(name, (text) => {
      const quoted = quoteName(text);
      expect(quoted).not.toMatch(/[`\n]/);
      const read = execFileSync('bash', ['--norc', '-c', `printf %s ${quoted}`], { env: { LC_ALL: 'C.UTF-8' } });
      expect(read.toString()).toBe(text);
    }),
    { numRuns: 40 },
  );
});
