import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { escapeControlCharacters } from '../../core/text/visible-text.ts';
import { cutToWidth, following, sentence } from './escape-control.ts';

const PIPE = { isTTY: false } as NodeJS.WriteStream;
const NARROW = { isTTY: true, columns: 30 } as NodeJS.WriteStream;

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

verifies('L3', 'a wrapped sentence of Heddle is indented, without the mark of quoted text', () => {
  expect(sentence('error X: ', 'The server did not answer in time at all.', NARROW).split('\n')).toEqual([
    'error X: The server did ',
    '    not answer in time at ',
    '    all.',
  ]);
  expect(following('note ', 'The server did not answer in time.', NARROW)).toContain('\n  | ');
});

verifies('L3', 'further lines of a quoted text keep the mark, and a wrapped line cannot look like a fix', () => {
  expect(sentence('error X: ', 'It said a\nfix: run it', NARROW)).toBe('error X: It said a\n  | fix: run it');
  expect(sentence('error X: ', `It said aaaaaaaa fix: run it now`, NARROW)).toMatch(
    /^error X: It said .*\n {2}\| +fix: run/,
  );
});

verifies('F3', 'a message of a server is cut before it is escaped', () => {
  const hostile = '\u0001'.repeat(15_000_000);
  expect(sentence('error X: ', hostile, PIPE)).toMatch(/^error X: (?:\\u\{0001\}){19993}… \[cut\]$/);
  expect(sentence('', '\n'.repeat(15_000_000), PIPE).length).toBeLessThan(150_000);
});

verifies('L3', 'a line is cut to the width also if much follows, and keeps whole emoji', () => {
  const family = '👨\u200d👩\u200d👧';
  expect(cutToWidth(`ab ${'\u0001'.repeat(15_000_000)}`, 12)).toBe('ab \\u{0001}\\…');
  expect(cutToWidth(family.repeat(1000), 30)).toBe(`${family.repeat(3)}…`);
  expect(cutToWidth('short', 30)).toBe('short');
});
