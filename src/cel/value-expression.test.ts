import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json } from '../core/call.ts';
import { parseExact } from '../core/exact-numbers.ts';
import { compileValueExpression } from './value-expression.ts';

function result(source: string, scope: Readonly<Record<string, unknown>> = {}) {
  const expression = compileValueExpression(source);
  if (!('evaluate' in expression)) throw new Error(`${source}: ${expression.message}`);
  return expression.evaluate(scope);
}

function computed(source: string, scope: Readonly<Record<string, unknown>> = {}): Json {
  const found = result(source, scope);
  if (!('value' in found)) throw new Error(`${source}: ${found.failure}`);
  return found.value;
}

const failureOf = (source: string, scope: Readonly<Record<string, unknown>> = {}) => {
  const found = result(source, scope);
  return 'failure' in found ? found.failure : found;
};

const numbers = (length: number) => Array.from({ length }, (_, index) => index);

describe('the value of an expression', () => {
  verifies('W2', 'computes with the numbers of JSON in both orders', () => {
    const input = { n: 7 };
    expect(computed('scope["input"].n + 1', { input })).toBe(8);
    expect(computed('1 - scope["input"].n', { input })).toBe(-6);
    expect(computed('scope["input"].n * 2 / 4 + 10 % scope["input"].n', { input })).toBe(6.5);
  });

  verifies(
    'W2',
    'gives plain JSON: integers as numbers, times and durations as text, an empty optional as null',
    () => {
      expect(computed('[size("abc"), 1u, null, b"abc"]')).toEqual([3, 1, null, 'YWJj']);
      expect(computed('{"at": timestamp("2026-01-02T03:04:05Z"), "for": duration("90s")}')).toEqual({
        at: '2026-01-02T03:04:05.000Z',
        for: '90s',
      });
      expect(computed('scope["a"].?b', { a: {} })).toBeNull();
      expect(computed('[scope["a"].?b.orValue(1)]', { a: {} })).toEqual([1]);
      expect(failureOf('1.0 / 0.0')).toBe('its result is not a finite number');
      expect(failureOf('type(1)')).toBe('its result is not a JSON value');
    },
  );

  verifies('W2', 'never rounds an integer over 2^53', () => {
    const input = parseExact('{"id": 9007199254740993, "huge": [123456789012345678901, 1e400]}');
    expect(JSON.stringify(computed('[scope["input"].id, scope["input"].id + 1]', { input }))).toBe(
      '[9007199254740993,9007199254740994]',
    );
    expect(JSON.stringify(computed('scope["input"].huge', { input }))).toBe('[123456789012345678901,1e400]');
    expect(failureOf('scope["input"].id + 0.5', { input })).toBe('it would round an integer over 2^53');
    expect(failureOf('scope["input"].huge[0] + 1', { input })).toContain('cannot be computed');
  });

  verifies('W2', 'reads names that are no identifiers, also with `has`', () => {
    const scope = { 'step-1': { result: { hits: [] } } };
    expect(computed('has(scope["step-1"].result.hits) && !has(scope["step-1"].result.none)', scope)).toBe(true);
  });

  verifies('W2', 'reads own fields only', () => {
    for (const name of ['constructor', '__proto__', 'toString']) {
      expect(failureOf(`scope["a"]["${name}"]`, { a: {} }), name).toContain('does not exist');
    }
  });
});

describe('the reads of an expression', () => {
  verifies('W2', 'lists each literal path with its name', () => {
    const expression = compileValueExpression(
      'scope["a"].x[0].y + scope["steps"].b.z + scope["c"][scope["d"].i].q + scope["e"].?f.orValue(1)',
    );
    expect(
      'reads' in expression && expression.reads.map(({ name, parts, isOptional }) => [name, parts, isOptional]),
    ).toEqual([
      ['a', ['x', 0, 'y'], false],
      ['b', ['z'], false],
      ['c', [], true],
      ['d', ['i'], false],
      ['e', ['f'], true],
    ]);
  });

  verifies('W2', 'rejects a name that is computed, and a variable without its dollar', () => {
    for (const source of ['scope', 'scope[scope["a"].x]', 'size(scope)', 'scope["steps"]', '[1].map(scope, scope.x)']) {
      expect(compileValueExpression(source), source).toMatchObject({ message: expect.stringContaining('name') });
    }
    expect(compileValueExpression('1 + input.n')).toMatchObject({ fix: 'Write `$input`.', offset: 4 });
  });

  verifies('W2', 'reports the path that does not exist, and never a value', () => {
    expect(result('scope["a"].secret.x', { a: { secret: 'hunter2' } })).toEqual({
      failure: '`$a.secret.x` does not exist',
      missing: ['a', 'secret', 'x'],
    });
    expect(result('scope["a"][0]', { a: [] })).toMatchObject({ missing: ['a', 0] });
    expect(result('scope["a"][scope["b"]]', { a: {}, b: 'hunter2' })).toEqual({ failure: '`$a[$b]` does not exist' });
  });
});

describe('the limits of an expression', () => {
  verifies('W2', 'stops endless and growing expressions', () => {
    const scope = { l: numbers(5000), t: 'x'.repeat(100_000) };
    expect(failureOf('scope["l"].map(x, scope["l"].map(y, x))', scope)).toBe('it takes too many steps');
    expect(failureOf('scope["l"].map(x, scope["t"]).join("")', scope)).toBe('it takes too many steps');
    expect(failureOf('scope["l"].map(x, string(x)).join(scope["t"])', scope)).toBe('it takes too many steps');
    const doubled = (value: string) =>
      numbers(30).reduce((inner, at) => `cel.bind(v${30 - at}, v${29 - at} + v${29 - at}, ${inner})`, value);
    expect(failureOf(`cel.bind(v0, scope["t"], ${doubled('size(v30)')})`, scope)).toBe('it takes too many steps');
    expect(failureOf(`cel.bind(v0, bytes(scope["t"]), ${doubled('size(v30)')})`, scope)).toBe(
      'it takes too many steps',
    );
    expect(failureOf('scope["t"].matches("(a|b|c){100}d")', scope)).toBe('it takes too many steps');
  });

  verifies('W2', 'counts the work of `size`, which reads each letter and each key', () => {
    const m = Object.fromEntries(numbers(1000).map((at) => [`k${at}`, at]));
    const scope = { l: numbers(500), t: 'x'.repeat(100_000), m };
    for (const sized of ['size(scope["t"])', 'scope["m"].size()']) {
      expect(failureOf(`scope["l"].map(x, ${sized})`, scope), sized).toBe('it takes too many steps');
    }
    expect(computed('scope["t"].size() + scope["m"].size()', scope)).toBe(101_000);
  });

  verifies('W2', 'iterates lists of 10,000 items and no longer ones', () => {
    expect(computed('size(scope["l"].filter(x, x % 2 == 0.0))', { l: numbers(10_000) })).toBe(5000);
    expect(failureOf('scope["l"].map(x, x)', { l: numbers(10_001) })).toBe(
      'a list has 10001 items, and 10000 are allowed',
    );
  });

  verifies('W2', 'charges each macro over a map for all its keys, and iterates no more than 10,000', () => {
    const keys = (count: number) => Object.fromEntries(numbers(count).map((at) => [`k${at}`, at]));
    expect(computed('scope["m"].exists(k, k == "k9")', { m: keys(10_000) })).toBe(true);
    expect(failureOf('scope["m"].exists(k, true)', { m: keys(10_001) })).toBe(
      'a map has 10001 keys, and 10000 are allowed',
    );
    const nested = { l: numbers(100), m: keys(10_000) };
    expect(failureOf('scope["l"].filter(x, scope["m"].exists(k, true))', nested)).toBe('it takes too many steps');
  });

  verifies('W2', 'refuses a result over 1 MiB, however it is shared', () => {
    const t = 'x'.repeat(300_000);
    expect(failureOf('[scope["t"], scope["t"], scope["t"], scope["t"]]', { t })).toBe(
      'its result is larger than 1048576 bytes',
    );
    const shared = numbers(25).reduce(
      (inner, at) => `cel.bind(v${25 - at}, [v${24 - at}, v${24 - at}], ${inner})`,
      'v25',
    );
    expect(failureOf(`cel.bind(v0, 1, ${shared})`)).toBe('its result is larger than 1048576 bytes');
  });

  verifies('W2', 'refuses three nested macros when it is compiled', () => {
    const nested = 'scope["l"].map(x, scope["l"].map(y, scope["l"].map(z, z)))';
    expect(compileValueExpression(nested)).toMatchObject({ message: 'it nests macros over lists more than 2 deep' });
  });
});
