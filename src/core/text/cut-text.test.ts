import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { cutText } from './cut-text.ts';

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
