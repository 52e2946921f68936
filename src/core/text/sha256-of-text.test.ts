import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { sha256OfText } from './sha256-of-text.ts';

it('returns the digest of `node:crypto`, around each block border and for text outside of ASCII', () => {
  const lengths = [0, 1, 31, 55, 56, 57, 63, 64, 65, 119, 120, 128, 5000];
  const texts = [...lengths.map((length) => 'heddle'.repeat(length).slice(0, length)), 'ä', '😀 extensions'];
  expect(texts.map(sha256OfText)).toEqual(texts.map((text) => hash('sha256', text)));
});
