import { expect, it } from 'vitest';
import { headerValue, readHeaderValue } from './header-value.ts';

const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

it.each([
  ['plain text', 'us-west1', 'us-west1'],
  ['a trailing space', 'us-west1 ', base64('us-west1 ')],
  ['a tab', 'a\tb', base64('a\tb')],
  ['a line break', 'a\r\nx: y', base64('a\r\nx: y')],
  ['text that looks encoded', '=?base64?eA==?=', base64('=?base64?eA==?=')],
  ['an empty text', '', base64('')],
])('encodes %s as a header value', (_, text, value) => {
  expect(headerValue(text)).toBe(value);
});

it.each([
  ['plain text', 'us-west1', 'us-west1'],
  ['Base64', base64(' Köln'), ' Köln'],
  ['empty Base64', base64(''), ''],
  ['the prefix without the suffix', '=?base64?eA==', '=?base64?eA=='],
  ['Base64 without padding', '=?base64?eA?=', undefined],
  ['Base64 with foreign characters', '=?base64?e%A==?=', undefined],
])('decodes %s', (_, value, text) => {
  expect(readHeaderValue(value)).toBe(text);
});
