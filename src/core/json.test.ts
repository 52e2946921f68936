import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { within } from '../../test/limits.ts';
import { verifies } from '../../test/requirements.ts';
import type { Json } from './call.ts';
import { HeddleError } from './errors.ts';
import { canonicalJson, isObject, type JsonLimits, parseJson } from './json.ts';

const refusal = (text: string, limits?: JsonLimits): string => {
  try {
    parseJson(text, limits);
  } catch (thrown) {
    if (HeddleError.is(thrown) && thrown.code === 'INPUT_INVALID') return thrown.message;
    throw thrown;
  }
  return 'accepted';
};

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const hasProto = (text: string) => text.includes('"__proto__"');

it('parses every JSON value to an equal value', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (text) => {
      fc.pre(!hasProto(text));
      expect(parseJson(text)).toEqual(JSON.parse(text));
      expect(parseJson(JSON.stringify(JSON.parse(text), null, 2))).toEqual(JSON.parse(text));
    }),
  );
});

it('throws only INPUT_INVALID for any text', () => {
  const noise = fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0061 e-1truefalsn\n\u2028\ud800'), maxLength: 60 });
  fc.assert(fc.property(noise, (text) => void refusal(text)));
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 2 }), (text, at, dirt) => {
      const cut = at % (text.length + 1);
      refusal(text.slice(0, cut) + dirt + text.slice(cut + 1));
    }),
  );
});

interface Written {
  readonly text: string;
  readonly unique: boolean;
}

/** An object of these entries, and whether it repeats a key anywhere inside. */
function written(entries: readonly (readonly [string, Written])[]): Written {
  const names = new Set(entries.map(([name]) => name));
  return {
    text: `{${entries.map(([name, { text }]) => `${JSON.stringify(name)}:${text}`).join(',')}}`,
    unique: names.size === entries.length && entries.every(([, { unique }]) => unique),
  };
}

it('finds a duplicate key exactly where there is one, however it is nested', () => {
  const key = fc.constantFrom('a', 'b', 'a,', '{', '"', '\\', '}');
  const tree = fc.letrec<{ object: Written; value: Written }>((tie) => ({
    object: fc.array(fc.tuple(key, tie('value')), { maxLength: 3 }).map(written),
    value: fc.oneof(
      { depthSize: 'small' },
      key.map((text) => ({ text: JSON.stringify([text]), unique: true })),
      tie('object'),
    ),
  }));
  fc.assert(
    fc.property(tree.object, ({ text, unique }) => {
      expect(refusal(text) === 'accepted').toBe(unique);
    }),
    { numRuns: 500 },
  );
});

it.each([
  ['plainly', '{"a":1,"b":2,"a":3}'],
  ['in another spelling', '{"a":1,"\\u0061":3}'],
  ['with space around it', '{ "a" : 1,\n"a"\t:\r\n2}'],
  ['deep inside', '[{"x":[{"a":{},"a":[]}]}]'],
  ['after a string that looks like one', '{"x":"{\\"a\\":1,","a":1,"a":2}'],
  ['with an escaped quote in it', '{"a\\"b":1,"a\\u0022b":2}'],
  ['ending in a backslash', '{"a\\\\":1,"a\\\\":2}'],
])('refuses a key written twice: %s', (_how, text) => {
  expect(refusal(text)).toMatch(/is written twice/);
  expect(refusal(text, { keys: 'any' })).toBe('accepted');
});

it('lets a key repeat in another object', () => {
  expect(refusal('[{"a":{"a":1}},{"a":[{"a":2}]}]')).toBe('accepted');
});

it.each(['{"__proto__":{"admin":true}}', '[{"x":{"__pr\\u006fto__":1}}]'])('refuses %s', (text) => {
  expect(refusal(text)).toMatch(/__proto__/);
});

it('keeps __proto__ as an ordinary key with keys: any', () => {
  const value = parseJson('{"__proto__":{"admin":true}}', { keys: 'any' }) as { admin?: boolean };
  expect(value.admin).toBeUndefined();
  expect(Object.keys(value)).toEqual(['__proto__']);
});

it.each(['unique', 'any'] as const)('refuses one level too many, and survives a million, keys %s', (keys) => {
  expect(refusal(nested(128), { keys })).toBe('accepted');
  expect(refusal(nested(129), { keys })).toMatch(/deeper than 128/);
  expect(refusal(nested(1_000_000), { keys })).toMatch(/deeper than 128/);
  expect(refusal(`{"a":${nested(3)}}`, { keys, maxDepth: 3 })).toMatch(/deeper than 3/);
  expect(refusal('"[[[[[[[[["', { keys, maxDepth: 1 })).toBe('accepted');
});

it('reads a very long string, whether it has one escape or nothing else', () => {
  for (const text of [`\n${'x'.repeat(12_000_000)}`, '\n'.repeat(6_000_000)]) {
    expect(refusal(JSON.stringify({ a: text }))).toBe('accepted');
    expect(refusal(`{"a":${JSON.stringify(text)},"a":1}`)).toMatch(/is written twice/);
  }
});

it('refuses text that is too long before it parses it', () => {
  expect(refusal('"1234"', { maxChars: 6 })).toBe('accepted');
  expect(refusal('not json', { maxChars: 6 })).toMatch(/8 characters, and 6 are allowed/);
});

// As a reader of the text sees it: -0 is 0.
const read = (value: Json): Json => JSON.parse(JSON.stringify(value));

function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, one]) => [key, reversed(one as Json)] as const)
      .reverse(),
  );
}

it('canonicalJson is the same for any key order, and different for different values', () => {
  const value = fc.jsonValue({ maxDepth: 3, stringUnit: fc.constantFrom('a', 'b', '"') }) as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(value, value, (one, other) => {
      expect(canonicalJson(reversed(one))).toBe(canonicalJson(one));
      expect(canonicalJson(one) === canonicalJson(other)).toBe(isDeepStrictEqual(read(one), read(other)));
    }),
    { numRuns: 500 },
  );
  expect(canonicalJson({ b: [1, { d: undefined, c: null }], a: 'x' })).toBe('{"a":"x","b":[1,{"c":null}]}');
});

const parses = () => {
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  return parse.mock.calls;
};
const escapedKeys = (count: number) =>
  Array.from({ length: count }, (_, at) => `"\\u006b${at.toString(36)}":1`).join(',');

verifies('P6', 'a message with too many different keys is refused before it is parsed', () => {
  const calls = parses();
  const texts = [`{${escapedKeys(20_001)}}`, `[{${escapedKeys(20_001).replaceAll(',', '},{')}}]`];
  for (const text of texts) {
    expect(refusal(text)).toMatch(/more than 20000 different keys/);
    expect(refusal(text.replaceAll('\\u006b', 'k'))).toMatch(/more than 20000 different keys/);
  }
  expect(calls).toHaveLength(0);
  expect(refusal(`{${escapedKeys(20_000)}}`)).toBe('accepted');
  expect(refusal(`{${escapedKeys(20_000)}}`, { keys: 'any' })).toBe('accepted');
  expect(refusal((texts[0] as string).replaceAll('\\u006b', 'k'), { keys: 'any' })).toBe('accepted');
  expect(refusal(texts[0] as string, { keys: 'any' })).toMatch(/more than 20000 different keys with escapes/);
});

verifies('F3', 'a message of a server with too many keys, objects or arrays is refused before it is parsed', () => {
  const calls = parses();
  const any = { keys: 'any', numbers: 'exact' } as const;
  expect(refusal(`{${escapedKeys(100_001)}}`, any)).toMatch(/more than 100000 different keys/);
  for (const [part, count] of [
    ['{}', 2_000_000],
    ['[]', 2_000_000],
    ['{"a":1}', 1_000_000],
  ] as const) {
    expect(refusal(`[${Array(count).fill(part).join(',')}]`, any)).toMatch(
      /more than 2000000 keys, objects and arrays/,
    );
  }
  expect(calls).toHaveLength(0);
  expect(refusal(JSON.stringify('{"a":[1]}'.repeat(1_000_000)), any)).toBe('accepted');
});

verifies(
  'P6',
  'counting the keys of a long text stays linear in a process that has read texts of all kinds',
  async () => {
    const long = JSON.stringify({ a: Array(100_000).fill('plain') });
    const texts = [JSON.stringify({ a: Array(1000).fill('a\n') }), JSON.stringify({ a: Array(1000).fill('édrop') })];
    for (let round = 0; round < 300; round++) for (const text of texts) parseJson(text, { numbers: 'exact' });
    await within(500, () => parseJson(long, { numbers: 'exact' }));
  },
);

verifies('P6', 'a repeated key is refused beside a number that JavaScript cannot hold', () => {
  const text = '{"path":"/safe","path":"/other","n":12345678901234567890}';
  expect(refusal(text, { numbers: 'exact' })).toMatch(/the key "path" is written twice/);
  expect(refusal(text.replace('"/safe","path":', ''), { numbers: 'exact' })).toBe('accepted');
});

verifies('P6', 'a key that is escaped in many objects is decoded once', () => {
  const row = '{"\\u540d":1,"\\u503c":"a\\n"}';
  const calls = parses();
  expect(refusal(`[${Array(50_000).fill(row).join(',')}]`)).toBe('accepted');
  expect(calls).toHaveLength(3); // Its two keys, and the text with plain keys.
});

verifies('P6', 'escapes outside keys do not slow down parsing', () => {
  const calls = parses();
  expect(refusal(`[${Array(1000).fill('{"text":"a\\n\\"b\\":"}').join(',')}]`)).toBe('accepted');
  expect(calls).toHaveLength(1);
});
