import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { parseExact } from '../../core/exact-numbers.ts';
import { compileExpression } from '../compile-expression.ts';
import { conditionValues } from '../fixtures.ts';

function result(source: string, args = '{}'): unknown {
  const condition = compileExpression(source);
  if (!('evaluate' in condition)) throw new Error(`${source}: ${condition.message}`);
  const found = condition.evaluate(conditionValues(parseExact(args) as JsonObject));
  return typeof found === 'boolean' ? found : found.failure;
}

function expectTrue(args: string, ...sources: readonly string[]): void {
  for (const source of sources) expect(result(source, args), source).toBe(true);
}

const problemOf = (source: string) => {
  const found = compileExpression(source);
  return 'message' in found ? found : undefined;
};

describe('numbers of a condition', () => {
  verifies('G3', 'compares integers of 19 and 20 digits exactly', () => {
    const args =
      '{"id":1234567890123456789,"max":9223372036854775807,"min":-9223372036854775808,"u":18446744073709551615}';
    expectTrue(
      args,
      'args.id == 1234567890123456789',
      'args.id != 1234567890123456788 && args.id > 1234567890123456788 && args.id < 1234567890123456790',
      'args.id in [1234567890123456789] && args.id in [1234567890123456789u]',
      '[args.id] == [1234567890123456789] && {"a": args.id} == {"a": 1234567890123456789u}',
      'args.max == 9223372036854775807 && args.max == 0x7fffffffffffffff',
      'args.min == -9223372036854775808 && args.u == 18446744073709551615u',
      'args.u > 18446744073709551614u && args.u > args.max',
    );
    expectTrue('{"id":1234567890123456789.0}', 'args.id == 1234567890123456789');
    expectTrue('{"id":1234567890123456789e0}', 'args.id == 1234567890123456789');
    expectTrue(
      '{"n":12345678901234567890123}',
      'args.n == 12345678901234567890123.0',
      'args.n > 18446744073709551615u',
    );
  });

  verifies('G3', 'finds an integer by its value, however its digits are written', () => {
    const zeros = '0'.repeat(60);
    for (const n of ['12345678901234567890e-1', '123456789012345678900000e-5', `1234567890123456789.${zeros}`])
      expectTrue(`{"n":${n}}`, 'args.n == 1234567890123456789', 'args.n in [1234567890123456789u]', 'args.n > 0');
    for (const n of ['900719925474099300e-2', `9007199254740993.${zeros}`, `9007199254740993${zeros}e-60`])
      expectTrue(`{"n":${n}}`, 'args.n == 9007199254740993', 'args.n != 9007199254740992');
    expectTrue(`{"n":1${zeros}e-60,"z":0e999}`, 'args.n == 1 && args.n / 4 == 0.25 && args.z == 0');
    const rounded = '{"n":9007199254740992.5,"l":[9007199254740992.5],"s":"a"}';
    for (const source of ['args.n > 9007199254740992', 'args.n == 9007199254740992', '9007199254740992 in args.l'])
      expect(result(source, rounded), source).toBe('it reads a fraction over 2^53, which would be rounded');
    expectTrue(rounded, 'args.s == "a" && has(args.n)');
    expectTrue('{"n":1234567890123456.7}', 'args.n > 1234567890123456 && args.n < 1234567890123457');
  });

  verifies('G3', 'compares int, uint and double by value in every form', () => {
    const args = '{"n":4,"l":[4,5.5],"m":{"a":1},"deep":[{"a":[1]}],"zero":-0.0}';
    expectTrue(
      args,
      'args.n == 4u && args.n == 4 && args.n == 4.0 && !(args.n != 4u)',
      'args.n in [22u, 4u] && 4u in args.l && 4 in args.l && 5.5 in args.l',
      'args.l == [4u, 5.5] && args.l != [4u, 5u]',
      'args.m == {"a": 1u} && args.deep == [{"a": [1u]}] && {"a": [1]} in args.deep',
      'args.l.exists(x, x == 4u) && args.l.filter(x, x in [4u]) == [4u] && args.l.map(x, x * 2) == [8u, 11]',
      'args.l.exists_one(x, x == 4u) && args.l.all(x, x in [4u, 5.5])',
      'dyn(size(args.l)) == 2u && args.l[0] == 4u && args.zero == 0 && args.zero == 0u && args.zero == -0.0',
      '(args.n == 4u ? args.l : []) == [4u, 5.5]',
      'dyn(args.?n) == dyn(optional.of(4u)) && dyn(args.?none) != dyn(args.?n)',
    );
  });

  verifies('G3', 'computes integers exactly, and never with a rounded one', () => {
    const args = '{"big":9007199254740993,"one":1,"half":0.5,"safe":9007199254740991,"far":1e300}';
    expectTrue(
      args,
      'args.big + args.one == 9007199254740994',
      'args.safe + 2 == 9007199254740993 && args.safe + args.one + args.one == 9007199254740993',
      'args.safe * 3 == 27021597764222973 && args.big % 2 == 1 && args.big % args.one == 0',
      'args.far * 2 > args.far && args.one / 2 == 0.5',
    );
    expect(result('args.big + args.half > 1', args)).toBe('it would round an integer over 2^53');
    expect(result('args.big / 2.0 > 1', args)).toBe('it would round an integer over 2^53');
    expect(result('args.safe * args.safe > 1', args)).toBe('its result is an integer of more than 64 bits');
    expect(result('args.one / (args.one - 1) > 100', args)).toBe('it divides by zero');
    expect(result('args.one % 0 == 0', args)).toBe('it divides by zero');
  });

  verifies('G3', 'refuses texts that are no numbers, and comparisons with NaN', () => {
    for (const text of ['', 'NaN', 'Infinity', '0x10', '0b1', ' 1', '1_0']) {
      const args = JSON.stringify({ text });
      expect(result('double(args.text) > 100.0', args), text).toBeTypeOf('string');
      expect(result('int(args.text) > 100', args), text).toBeTypeOf('string');
      expect(result('uint(args.text) > 100u', args), text).toBeTypeOf('string');
    }
    expect(result('0.0 / 0.0 == 1.0')).toBe('it compares a result that is not a number');
    expect(result('int(args.n) > 1', '{"n":1e19}')).toBe('it converts a value that is no integer of 64 bits');
    expectTrue(
      '{"t":"-1234567890123456789","d":"1.5e3"}',
      'int(args.t) == -1234567890123456789',
      'double(args.d) == 1500.0',
    );
  });

  verifies('G3', 'reports a literal that would have another value, with its place', () => {
    expect(problemOf('args.id == 1234567890123456789.0')).toMatchObject({ fix: 'Write it as an integer.', offset: 11 });
    expect(problemOf('args.id in [1, 9007199254740993.5]')).toMatchObject({ offset: 15 });
    expect(problemOf('args.id == 18446744073709551615')).toMatchObject({ fix: 'Write `18446744073709551615u`.' });
    expect(problemOf('args.id == 99999999999999999999')).toMatchObject({ message: 'an integer has more than 64 bits' });
    expect(problemOf('bytes(args.s) == b"ÿ"')).toMatchObject({ message: 'bytes have a letter beyond ASCII' });
    for (const literal of ['1e18', '9223372036854775808.0', '1e300', '0.1', '-9223372036854775808']) {
      expect(problemOf(`args.id == ${literal}`), literal).toBeUndefined();
    }
  });
});

describe('texts, maps and times of a condition', () => {
  verifies('G3', 'finds a key by its value: the number 1 is not the text "1"', () => {
    const args = '{"m":{"1":"x"},"n":1,"t":"1","c":"constructor"}';
    expectTrue(
      args,
      '!(1 in args.m) && "1" in args.m && !(args.t in {1: true}) && args.n in {1: true} && args.n in {1u: true}',
      '{1: "x"}[args.n] == "x" && {1: 2, 3u: 4} == {3: 4u, 1u: 2} && dyn({1: 2}) != {"1": 2}',
      'args.c in {"constructor": true} && {"constructor": 1} != {}',
      '{true: 1}[args.n == 1] == 1 && {1: 2}[?args.n].orValue(0) == 2 && !args.m[?1].hasValue()',
    );
    expect(result('args.m[1] == "x"', args)).toBe('`args.m[1]` does not exist');
    expect(result('{1: "x"}[args.t] == "x"', args)).toBeTypeOf('string');
    expect(result('{args.t: 1, "1": 2} != {}', args)).toBe('it writes a key of a map twice');
    expect(result('{1.5: 1} != {}', args)).toBe('a key of a map is neither text nor integer nor bool');
  });

  verifies('G3', 'orders texts by code points and durations by their length', () => {
    expectTrue('{"s":"\u{1F600}"}', 'args.s > "\\uffee" && args.s >= args.s && !(args.s < "a") && "ab" < "abc"');
    expectTrue('{}', 'duration("-1.5s") + duration("0.7s") == duration("-0.8s")');
  });

  verifies('G3', 'refuses texts that are no times of RFC 3339 and no durations', () => {
    for (const t of [
      '2026-02-30T00:00:00Z',
      'Nov 17 2026 22:00:00 UTC',
      '2026-11-17 22:30:00Z',
      '2026-11-17T24:00:00Z',
    ])
      expect(result('timestamp(args.t) < time', JSON.stringify({ t })), t).toBe('it converts a text that is no time');
    for (const t of ['2024-02-29T23:59:59.123456789Z', '2026-11-18T00:30:00+02:00'])
      expectTrue(JSON.stringify({ t }), 'timestamp(args.t) <= time');
    for (const d of ['h', '.h', '1.5', '', '1h-', '1 h', '--1h'])
      expect(result('duration(args.d) > duration("1h")', JSON.stringify({ d })), d).toBe(
        'it converts a text that is no duration',
      );
    for (const d of ['61m', '+1h1ms', '1.5h', '.5h1h', '99999999ms'])
      expectTrue(JSON.stringify({ d }), 'duration(args.d) > duration("1h")');
  });

  verifies('G3', 'names the operator of a comparison of different types', () => {
    expect(result('args.n > 100', '{"n":"500"}')).toBe(
      '`args.n > 100` cannot be computed: no such overload: string > int',
    );
  });

  verifies('G3', 'changes ASCII letters only, and reads the numbers of JSON text exactly', () => {
    expectTrue('{"s":"\u212AELVIN"}', 'args.s.lowerAscii() == "\u212Aelvin" && args.s.lowerAscii() != "kelvin"');
    expectTrue('{"s":"{\\"id\\":1234567890123456789}"}', 'bytes(args.s).json().id == 1234567890123456789');
  });
});
