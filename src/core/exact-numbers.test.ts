import fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json, JsonObject } from './call.ts';
import { isRawNumber, parseExact, withPlainNumbers } from './exact-numbers.ts';
import { canonicalJson, parseJson } from './json.ts';

const exact = (text: string) => parseJson(text, { numbers: 'exact' });
const finite = (_key: string, value: unknown) =>
  typeof value === 'number' ? Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value)) : value;
const UNSAFE = ['9007199254740993', '-9223372036854775808', '18446744073709551615', '1e400', '-1E+400', '1.5e-400'];

verifies('P1', 'writes numbers that JavaScript cannot hold back unchanged', () => {
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

/** The same rule with a reviver: simple, and far too slow for large texts. */
function reference(text: string): Json {
  const keep = (_key: string, value: Json, { source = '' }: { readonly source?: string }) => {
    const isCandidate = typeof value === 'number' && /^-?\d{16}|[eE][-+]?\d{3,}$/.test(source);
    if (!isCandidate || numbersIn(source)[0] === numbersIn(String(value))[0]) return value;
    return (JSON as unknown as { rawJSON(text: string): Json }).rawJSON(source);
  };
  return (JSON as unknown as { parse(text: string, reviver: typeof keep): Json }).parse(text, keep);
}

/** Tells values apart that print alike: a raw number from its text, -0 from 0, an absent key from none. */
const shape = (value: Json | undefined): unknown => {
  if (isRawNumber(value)) return ['raw', value.rawJSON];
  if (Array.isArray(value)) return ['array', ...value.map(shape)];
  if (typeof value === 'object' && value !== null) return Object.entries(value).map(([key, one]) => [key, shape(one)]);
  return Object.is(value, -0) ? '-0' : value;
};

verifies('P1', 'any text gives the values that a reviver gives, or the same error', () => {
  const spelling = fc.constantFrom(
    ...UNSAFE,
    ...[
      '-0',
      '0',
      '-0.0',
      '-0e400',
      '0.1e-400',
      '1E400',
      '1e999',
      '-1e999',
      '1e0000',
      '5e-324',
      '1.7976931348623157e308',
    ],
    ...['9007199254740992', '9007199254740993.0', '12345678901234567.5', '0.12345678901234567890', '1e22', '10E+021'],
    ...['100000000000000000000', '012345678901234567', '12345678901234567e', '1234567890123456-7', '[1e999,0]'],
  );
  // Keys have no escapes: V8 takes an escaped key for another one when it has seen objects of a similar shape.
  const named = fc.constantFrom('a', 'b', '0', '1', '__proto__', ',12345678901234567', ' 1e400 ');
  const word = fc.oneof(named, fc.constantFrom('\\u0061', '\\"', '\\\\'));
  const quote = (one: fc.Arbitrary<string>) => fc.array(one, { maxLength: 3 }).map((parts) => `"${parts.join('')}"`);
  const [key, quoted] = [quote(named), quote(word)];
  const space = fc.constantFrom('', ' ', '\n', '\t\r');
  const spaced = (one: fc.Arbitrary<string>) => fc.tuple(space, one, space).map((parts) => parts.join(''));
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: spaced(
      fc.oneof(
        { depthSize: 'small' },
        spelling,
        quoted,
        fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
        fc
          .array(fc.tuple(fc.oneof({ weight: 9, arbitrary: key }, spelling), tie('value')), { maxLength: 4 })
          .map((entries) => `{${entries.map((entry) => entry.join(':')).join()}}`),
      ),
    ),
  }));
  const outcome = (parse: (text: string) => Json, text: string) => {
    try {
      return shape(parse(text));
    } catch (thrown) {
      return String(thrown);
    }
  };
  const text = fc.oneof(
    { weight: 9, arbitrary: value },
    fc.tuple(value, value).map((both) => both.join('')),
  );
  fc.assert(
    fc.property(text, (written) => {
      expect(outcome(parseExact, written)).toEqual(outcome(reference, written));
    }),
    { numRuns: 3000 },
  );
});

verifies('P6', 'one long integer does not slow down the parsing of other values', () => {
  const parse = vi.spyOn(JSON, 'parse');
  const exec = vi.spyOn(RegExp.prototype, 'exec');
  const indexOf = vi.spyOn(String.prototype, 'indexOf');
  onTestFinished(() => void vi.restoreAllMocks());
  const work = (item: string, count: number) => {
    for (const spy of [parse, exec, indexOf]) spy.mockClear();
    const value = parseExact(`[${`${item},`.repeat(count)}12345678901234567]`);
    const steps = exec.mock.calls.length + indexOf.mock.calls.length;
    const revivers = parse.mock.calls.filter(([, reviver]) => reviver !== undefined).length;
    return { steps, revivers, length: (value as readonly Json[]).length };
  };
  for (const item of ['1', '[]', '{}', '123456789012345', '0.1234567890123456789', 'null', '1e22']) {
    const few = work(item, 10);
    expect(work(item, 10_000)).toEqual({ steps: few.steps, revivers: 0, length: 10_001 });
  }
  // Strings are jumped over, whatever is in them: two searches for quotes and one for the next number.
  const strings = work('" 1234567890123456, 1e400, 1234567890123456"', 10_000);
  expect(strings.steps).toBeLessThan(3 * 10_000 + 20);
});

verifies('P6', 'a message with more exact numbers than allowed is refused, and with as many is kept', () => {
  const text = (count: number) => `[${Array(count).fill('12345678901234567').join()}]`;
  expect(JSON.stringify(exact(text(100_000)))).toBe(text(100_000));
  expect(() => exact(text(100_001))).toThrow(/more than 100000 numbers/);
});

it('reads a long integer at any depth', () => {
  const text = `${'['.repeat(100_000)}12345678901234567${']'.repeat(100_000)}`;
  let value = parseExact(text);
  while (Array.isArray(value)) value = value[0];
  expect(JSON.stringify(value)).toBe('12345678901234567');
});

verifies('P1', 'parses ordinary values like JSON.parse', () => {
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

it('keeps a number of a million digits as text', () => {
  const text = `[${'7'.repeat(1_000_000)}]`;
  expect(JSON.stringify(exact(text))).toBe(text);
});

it('withPlainNumbers returns the nearest numbers, and the value itself without raw numbers', () => {
  const value = exact('{"a":[{"b":9007199254740993}],"c":1e400,"d":{"e":1}}') as Record<string, Json>;
  expect(withPlainNumbers(value)).toEqual({ a: [{ b: 9007199254740992 }], c: Number.MAX_VALUE, d: { e: 1 } });
  expect(isRawNumber(value.c)).toBe(true);
  const ordinary = exact('{"a":1}');
  expect(withPlainNumbers(ordinary)).toBe(ordinary);
});

it('withPlainNumbers replaces raw numbers in copies at any depth', () => {
  const value = exact('{"a":9007199254740993,"b":{"c":[9007199254740993]}}') as Record<string, JsonObject>;
  const copy = { ...value, b: { ...value.b }, list: [{ value: { ...value } }] };
  const plain = { a: 9007199254740992, b: { c: [9007199254740992] } };
  expect(withPlainNumbers(copy)).toEqual({ ...plain, list: [{ value: plain }] });
  expect(isRawNumber(value.a)).toBe(true);
});

it('distinguishes raw numbers in canonical JSON by their digits', () => {
  expect(canonicalJson(exact('{"b":1,"a":9007199254740993}'))).toBe('{"a":9007199254740993,"b":1}');
});

verifies('P6', 'refuses more numbers than it compares, and compares no long ones', () => {
  const [short, long] = ['0.5e101', `1000000000000000.${'0'.repeat(380)}1`];
  expect(() => exact(`[${Array(100_001).fill(short).join()}]`)).toThrow('more than 100000 numbers');
  expect(exact(`[${Array(1000).fill(short).join()}]`)).toEqual(Array(1000).fill(0.5e101));
  expect(JSON.stringify(exact(`[${long}]`))).toBe(`[${long}]`);
});
