import { expect, it } from 'vitest';
import { escapeControlCharacters } from '../../core/text/visible-text.ts';

it.each([
  ['plain text\twith a tab\nand a line', 'plain text\twith a tab\nand a line'],
  ['ü ✓ 😀 عربي', 'ü ✓ 😀 عربي'],
  ['\u001b[31mred\u001b[0m', '\\u{001b}[31mred\\u{001b}[0m'],
  ['over\rwritten\b', 'over\\u{000d}written\\u{0008}'],
  ['\u009b31m', '\\u{009b}31m'],
  ['safe\u202eexe.txt', 'safe\\u{202e}exe.txt'],
  ['zero\u200bwidth\ufeff', 'zero\\u{200b}width\\u{feff}'],
  ['tag\u{e0041}', 'tag\\u{e0041}'],
])('shows %j as %j', (text, shown) => {
  expect(escapeControlCharacters(text)).toBe(shown);
});
