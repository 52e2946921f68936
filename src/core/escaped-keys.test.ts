import fc from 'fast-check';
import { expect, it } from 'vitest';
import { within } from '../../test/limits.ts';
import { verifies } from '../../test/requirements.ts';
import { parseKeys } from './escaped-keys.ts';
import { parseJson } from './json.ts';

verifies('P6', 'keeps the escaped keys of one text apart from the keys of another caller’s text', () => {
  for (const [earlier, later, kept] of [
    ['{"item":1,"gr\\\\u0":1}', '{"item":7,"gr\\u00f6\\u00dfe":42}', { item: 7, größe: 42 }],
    ['{"item":1,"gr\\\\n0":1}', '{"item":7,"gr\\n0x":42}', { item: 7, 'gr\n0x': 42 }],
    [
      '{"item":1,"a\\\\\\"":1}',
      '{"item":7,"a\\"\\"b":{"c\\\\d":[{"e\\t":1}]}}',
      { item: 7, 'a""b': { 'c\\d': [{ 'e\t': 1 }] } },
    ],
  ] as const) {
    for (const limits of [{}, { keys: 'any' }, { numbers: 'exact' }, { keys: 'any', numbers: 'exact' }] as const) {
      parseJson(earlier, limits);
      expect(parseJson(later, limits)).toEqual(kept);
      expect(parseJson(`[9007199254740993,${later}]`, limits)).toMatchObject([expect.anything(), kept]);
    }
  }
});

verifies('P6', 'parses every text with escaped keys as it was written', () => {
  const part = fc.constantFrom('a', 'u0', '\\', '"', 'ö', '\n', '', '😀', '\ud800', '__proto__', 'key ', '0', '1');
  const name = fc.array(part, { maxLength: 4 }).map((parts) => parts.join(''));
  const spelling = fc
    .tuple(name, fc.boolean())
    .map(([text, isAscii]) => (isAscii ? ascii(text) : JSON.stringify(text)));
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      spelling,
      fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
      fc
        .uniqueArray(fc.tuple(spelling, tie('value')), { selector: ([key]) => JSON.parse(key), maxLength: 4 })
        .map((entries) => `{${entries.map(([key, item]) => `${key} :${item}`).join()}}`),
    ),
  }));
  fc.assert(
    fc.property(value, (text) => void expect(spelt(parseKeys(text))).toBe(normal(text))),
    { numRuns: 500 },
  );
});

it('names the place of a mistake in the text as it was sent', () => {
  for (const text of [
    '{"a"\\u003a":1}"}',
    '{"a,"\\u003a":1}"}',
    '{"\\u00f6":1,}',
    '{"a\\n":1,"b":}',
    '{"\\x":1}',
    '"\\',
    '{"a":1}\\"b":1}',
    '[\\n,{"a":"b\\""}]',
    '{"\\u00f6"',
  ]) {
    expect(() => parseKeys(text)).toThrow(messageOf(text));
  }
});

it('parses up to 20,000 keys that have to be written with escapes', async () => {
  const rows = `[${Array(10_000).fill('{"\\n":1,"__proto__":{"\\t":2}}').join()}]`;
  const value = (await within(2000, () => parseKeys(rows))) as readonly object[];
  expect(Object.entries(value[9_999] ?? {})).toEqual([
    ['\n', 1],
    ['__proto__', { '\t': 2 }],
  ]);
  const more = `[${Array(20_001).fill('{"\\n":1}').join()}]`;
  for (const text of [more, more.replace('1', '9007199254740993')]) {
    expect(() => parseJson(text, { numbers: 'exact' })).toThrow('more than 20000 keys with a quote');
  }
});

verifies('P6', 'stops at more than 20,000 different keys with escapes, before it reads the rest of the text', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, n) => `"\\u0061${n}":1`).join();
  expect(Object.keys(parseKeys(`{${keys(20_000)}}`) as object)[19_999]).toBe('a19999');
  // The rest is no JSON, which a reader of the whole text would report.
  for (const text of [`{${keys(99_000)}}`, `{${keys(20_001)}}\\`]) {
    expect(() => parseJson(text, { keys: 'any' })).toThrow('more than 20000 different keys with escapes');
  }
  const repeated = `[${Array(30_000).fill('{"\\u00e9":1}').join()}]`;
  expect(parseKeys(repeated)).toHaveLength(30_000);
});

const ascii = (text: string) =>
  JSON.stringify(text).replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Writes a value with the keys of each object in the order of their text, numbers as keys included. */
function spelt(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spelt).join()}]`;
  if (typeof value !== 'object' || value === null) return ascii(String(value));
  const entries = Object.entries(value).map(([key, item]) => `${ascii(key)}:${spelt(item)}`);
  return `{${entries.toSorted().join()}}`;
}

/** The same without objects: an array of pairs has no keys. */
function normal(text: string): string {
  const pairs = text.replace(/"(?:[^"\\]|\\.)*"|[{}:]/gs, (one) => ({ '{': '["{"', '}': ']', ':': ',' })[one] ?? one);
  return fromPairs(JSON.parse(pairs.replace(/\["\{"(?!\])/g, '["{",')));
}

function fromPairs(value: unknown): string {
  if (!Array.isArray(value)) return ascii(String(value));
  if (value[0] !== '{') return `[${value.map(fromPairs).join()}]`;
  const entries: string[] = [];
  for (let at = 1; at < value.length; at += 2) entries.push(`${ascii(value[at])}:${fromPairs(value[at + 1])}`);
  return `{${entries.toSorted().join()}}`;
}

function messageOf(text: string): string {
  try {
    JSON.parse(text);
  } catch (thrown) {
    return (thrown as Error).message;
  }
  return 'none';
}
