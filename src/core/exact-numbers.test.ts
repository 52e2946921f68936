import fc from 'fast-check';
import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json } from './call.ts';
import { isRawNumber, withPlainNumbers } from './exact-numbers.ts';
import { canonicalJson, parseJson } from './json.ts';

const exact = (text: string) => parseJson(text, { numbers: 'exact' });
const finite = (_key: string, value: unknown) =>
  typeof value === 'number' ? Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value)) : value;
const UNSAFE = ['9007199254740993', '-9223372036854775808', '18446744073709551615', '1e400', '-1E+400', '1.5e-400'];

verifies('P1', 'numbers that JavaScript cannot hold are written back as they came, wherever they stand', () => {
  const integer = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String);
  const exponent = fc
    .tuple(fc.integer(), fc.integer({ min: 309, max: 9999 }))
    .map(([digits, power]) => `${digits}e${power}`);
  const number = fc.oneof(integer, exponent, fc.constantFrom(...UNSAFE));
  const text = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      number,
      fc.string().map((one) => JSON.stringify(one)),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
      fc
        .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'rawJSON'), tie('value')), { selector: ([key]) => key })
        .map((entries) => `{${entries.map(([key, value]) => `"${key}":${value}`).join()}}`),
    ),
  }));
  fc.assert(
    fc.property(text.value, (written) => {
      const value = exact(`[${written}]`);
      // Integers that are exact as a double may come back in another spelling of the same number.
      expect(numbersIn(JSON.stringify(value))).toEqual(numbersIn(written));
      expect(withPlainNumbers(value)).toEqual([JSON.parse(written, finite)]);
    }),
    { numRuns: 500 },
  );
});

/** Each number as an exact fraction of powers of ten, outside of strings. */
function numbersIn(text: string): readonly string[] {
  const found = text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g) ?? [];
  return found.map((one) => {
    const [, sign = '', whole = '', fraction = '', power = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:[eE](.+))?$/.exec(one) ?? [];
    const digits = `${whole}${fraction}`.replace(/^0+/, '').replace(/0+$/, '');
    const shift = Number(power) + whole.length - `${whole}${fraction}`.search(/[1-9]/);
    return digits === '' ? '0' : `${sign}0.${digits}e${shift}`;
  });
}

verifies('P1', 'ordinary values are parsed as ever', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      fc.pre(!text.includes('__proto__'));
      expect(exact(text)).toEqual(JSON.parse(text));
    }),
  );
  for (const text of [
    '[1e3,1.0,-0.0,9007199254740992,1e22,10000000000000000000000]',
    '{"a":"1e400, 99999999999999999"}',
  ]) {
    expect(exact(text)).toEqual(JSON.parse(text));
  }
});

it('reads a number of a million digits without computing with it', () => {
  const text = `[${'7'.repeat(1_000_000)}]`;
  expect(JSON.stringify(exact(text))).toBe(text);
});

it('gives code that computes the nearest numbers, and the value itself when there is no raw one', () => {
  const value = exact('{"a":[{"b":9007199254740993}],"c":1e400,"d":{"e":1}}') as Record<string, Json>;
  expect(withPlainNumbers(value)).toEqual({ a: [{ b: 9007199254740992 }], c: Number.MAX_VALUE, d: { e: 1 } });
  expect(isRawNumber(value.c)).toBe(true);
  const ordinary = exact('{"a":1}');
  expect(withPlainNumbers(ordinary)).toBe(ordinary);
});

it('distinguishes raw numbers in canonical JSON by their digits', () => {
  expect(canonicalJson(exact('{"b":1,"a":9007199254740993}'))).toBe('{"a":9007199254740993,"b":1}');
});
