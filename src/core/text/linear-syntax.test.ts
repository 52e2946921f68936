import fc from 'fast-check';
import { RE2JS } from 're2js';
import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { toLinearSyntax } from './linear-syntax.ts';

/** Every character that some class, anchor or case treats in its own way, and the ends of the ranges around them. */
const CHARACTERS = [
  ...Array.from({ length: 0x180 }, (_, code) => String.fromCodePoint(code)),
  ...[0x1680, 0x1fff, 0x2000, 0x200a, 0x200b, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff, 0xfffd].map((code) =>
    String.fromCodePoint(code),
  ),
  ...['\u017f', '\u212a', 'ß', 'ẞ', 'σ', 'ς', '٣', '中', '\ud83d', '\ude00', '😀', '\u{10ffff}'],
];
const TEXTS = [
  '',
  ...CHARACTERS,
  ...CHARACTERS.map((char) => `a${char}`),
  ...CHARACTERS.map((char) => `${char}1 b`),
  'ab\n',
  'aaa',
];

function matcherOf(source: string): ((text: string) => boolean) | undefined {
  const syntax = toLinearSyntax(source);
  if (syntax === undefined) return undefined;
  const pattern = RE2JS.compile(syntax);
  return (text) => pattern.matcher(text).find();
}

function expectLikeEcmaScript(source: string): void {
  const pattern = new RegExp(source, 'u');
  const matches = matcherOf(source);
  expect(matches, source).toBeDefined();
  expect(
    TEXTS.filter((text) => matches?.(text) !== pattern.test(text)),
    source,
  ).toEqual([]);
}

verifies('G4', 'matches patterns as ECMAScript does, in all characters where RE2 differs', () => {
  for (const source of [
    ...[
      '^\\S+$',
      '^\\s+$',
      '^[\\s]$',
      '^[^\\s]$',
      '^[\\S]+$',
      '^[^\\S]$',
      '[\\s\\S]',
      '^[a\\S]$',
      '^[\\s-]$',
      '^\\s?\\S$',
    ],
    ...[
      '^\\w+$',
      '^\\W$',
      '^[\\W]$',
      '^[^\\w]$',
      '^\\d$',
      '^\\D$',
      '^[\\D]$',
      '^[\\d_]$',
      '^.$',
      '^.*$',
      '^[.]$',
      'a$',
      '^a$',
    ],
    ...[
      '\\ba',
      '\\Ba',
      'a\\b',
      '^[\\b]$',
      '^[^]$',
      '[]',
      'a|[]',
      '^[^a]$',
      '^[a-c\\-x]$',
      '^[+--]$',
      '^[[]$',
      '^[&&]$',
    ],
    ...[
      '^\\u00a0$',
      '^\\u{1F600}$',
      '^\\uD83D\\uDE00$',
      '^[\\uD83D\\uDE00]$',
      '^\\uD83D$',
      '^\\xA0$',
      '^\\cA$',
      '^[\\cA]$',
      '^\\0$',
    ],
    ...[
      '^\\t\\n\\v\\f\\r$',
      '^[\\t-\\r]$',
      '^\\/\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|$',
      '^[\\^\\]\\\\]$',
      '^😀$',
      '^[😀-😂]$',
    ],
    ...['^(?<name>a)$', '^(?<a$>b)|(c)$', '^(?:a|)$', '', '(?:)', '^a{2}', '^a{1,}?$', '^a{0,2}$', '^(a{2}){2}$'],
    ...[
      '^\\p{L}$',
      '^\\p{Letter}$',
      '^\\P{Lu}$',
      '^[\\p{L}\\p{N}_]$',
      '^[^\\p{L}]$',
      '^\\p{Script=Han}$',
      '^\\p{gc=Nd}$',
    ],
    ...[
      '^\\p{C}$',
      '^\\p{Alphabetic}$',
      '^\\p{Emoji}$',
      '^\\p{White_Space}$',
      '^(?i:a)$',
      '^(?i:[k-s])$',
      '^(?i:\\w)$',
    ],
    ...['^(?i:[^k])$', '^(?s:.)$', '^(?s:.)(?-s:.)$', '^(?i:ß|σ)$', '^(?i:(?-i:k)|s)$'],
  ]) {
    expectLikeEcmaScript(source);
  }
});

const atom = fc.constantFrom(
  ...[
    'a',
    'b',
    '1',
    ' ',
    '-',
    '😀',
    'ſ',
    '.',
    '\\s',
    '\\S',
    '\\w',
    '\\W',
    '\\d',
    '\\D',
    '\\b',
    '\\B',
    '^',
    '$',
    '\\u00a0',
  ],
  ...['\\u{3000}', '\\x41', '\\cJ', '\\n', '\\.', '\\p{Lu}', '\\P{Zs}', '[]', '[^]'],
);
const member = fc.constantFrom(
  ...[
    'a',
    'b-y',
    '0',
    '_',
    '-',
    ' ',
    '.',
    '\\s',
    '\\S',
    '\\w',
    '\\W',
    '\\d',
    '\\D',
    '\\b',
    '\\-',
    '\\]',
    '\\u2028-\\u3000',
  ],
  ...['\\p{L}', '\\P{L}', '\\xa0', '[', '^', '$', '&'],
);
const charClass = fc
  .tuple(fc.boolean(), fc.array(member, { maxLength: 4 }))
  .map(([negated, members]) => `[${negated ? '^' : ''}${members.join('')}]`);
const { pattern } = fc.letrec<{ pattern: string; term: string }>((tie) => ({
  pattern: fc.array(tie('term'), { maxLength: 4 }).map((terms) => terms.join('')),
  term: fc.oneof(
    { maxDepth: 3 },
    atom,
    charClass,
    fc
      .tuple(fc.oneof(atom, charClass), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '*?'))
      .map((parts) => parts.join('')),
    tie('pattern').map((inner) => `(${inner})`),
    tie('pattern').map((inner) => `(?:${inner}|a)`),
    tie('pattern').map((inner) => `(?s:${inner})`),
  ),
}));

function isValid(source: string): boolean {
  try {
    return new RegExp(source, 'u') !== undefined;
  } catch {
    return false;
  }
}

verifies('G4', 'matches any pattern without look-around and back-references as ECMAScript does', () => {
  const text = fc
    .array(fc.constantFrom(...CHARACTERS, 'a', 'b', '1', ' '), { maxLength: 6 })
    .map((chars) => chars.join(''));
  fc.assert(
    fc.property(pattern.filter(isValid), fc.array(text, { minLength: 5, maxLength: 5 }), (source, texts) => {
      const expected = new RegExp(source, 'u');
      const matches = matcherOf(source);
      return texts.every((one) => matches?.(one) === expected.test(one));
    }),
    { numRuns: 1_000 },
  );
});

it('keeps what other engines write: flags at the start, anchors, POSIX classes, escaped and lone signs', () => {
  const found = (source: string, text: string) => matcherOf(source)?.(text);
  expect(found('(?i)^abc$', 'ABC')).toBe(true);
  expect(found('(?i)^\\S+$', 'a\u00a0b')).toBe(false);
  expect(found('\\Aab\\z', 'ab')).toBe(true);
  expect(found('\\Aab\\z', 'xab')).toBe(false);
  expect(found('^[[:alpha:]_]+$', 'ab_')).toBe(true);
  expect(found('^[[:alpha:]_]+$', 'a1')).toBe(false);
  expect(found('^[\\w-.]+\\-\\_\\@$', 'a-.-_@')).toBe(true);
  expect(found('^{a}]$', '{a}]')).toBe(true);
  expect(found('^a{,2}$', 'a{,2}')).toBe(true);
  expect(found('^(?P<year>\\d{4})$', '2026')).toBe(true);
});

it('does not translate what takes more than linear time or has another meaning', () => {
  for (const source of [
    ...[
      '(?=a)',
      '(?!a)',
      '(?<=a)b',
      '(?<!a)b',
      '(a)\\1',
      '(?<n>a)\\k<n>',
      'a\\Z',
      '\\h',
      '\\Qa\\E',
      '(?m:^a$)',
      '[b-a]',
      '[a',
    ],
    ...['a\\', '\\u{110000}', '\\01', '(?i)\\bk', '(?i)[\\S]', '\\p', '(?>a)', '(?#a)'],
  ]) {
    expect(toLinearSyntax(source), source).toBeUndefined();
  }
});
