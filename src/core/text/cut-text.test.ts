import fc from 'fast-check';
import { expect, it } from 'vitest';
import { within } from '../../../test/limits.ts';
import { verifies } from '../../../test/requirements.ts';
import { cutAndEscape, cutAndEscapeBreaks, cutText } from './cut-text.ts';

verifies('R8', 'cuts a text to the limit, the mark included', () => {
  expect(cutText('x'.repeat(2048), 2048)).toBe('x'.repeat(2048));
  const cut = cutText('x'.repeat(2049), 2048);
  expect(cut).toMatch(/^x+… \[cut\]$/);
  expect(cut).toHaveLength(2048);
});

verifies('R8', 'never exceeds the limit and never splits a surrogate pair', () => {
  const text = fc.array(fc.constantFrom('x', '👍', 'é'), { maxLength: 60 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, fc.integer({ min: 0, max: 60 }), (whole, max) => {
      const cut = cutText(whole, max);
      expect(cut.length).toBeLessThanOrEqual(max);
      expect(cut.isWellFormed()).toBe(true);
      if (whole.length <= max) expect(cut).toBe(whole);
    }),
  );
});

it('cuts a text before and after its invisible characters are escaped', async () => {
  expect(cutAndEscapeBreaks('a\nb\u200bc', 80)).toBe('a\\nb\\u{200b}c');
  expect(cutAndEscape('a\nb\u200bc', 80)).toBe('a\nb\\u{200b}c');
  expect(cutAndEscapeBreaks('\u200b'.repeat(20), 40)).toBe(`${'\\u{200b}'.repeat(4)}\\… [cut]`);
  const long = '👨\u200d'.repeat(1_000_000);
  const shown = await within(100, () => [cutAndEscapeBreaks(long, 40), cutAndEscape(long, 40)]);
  for (const text of shown) expect(text).toMatch(/^(?:👨\\u\{200d\}){3}.{0,12}… \[cut\]$/u);
});
