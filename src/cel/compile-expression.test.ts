import { describe, expect } from 'vitest';
import { within } from '../../test/limits.ts';
import { verifies } from '../../test/requirements.ts';
import type { JsonObject } from '../core/call.ts';
import { parseExact } from '../core/exact-numbers.ts';
import { compileExpression } from './compile-expression.ts';
import type { ConditionResult } from './condition.ts';
import { conditionValues } from './fixtures.ts';
import { unknownValue } from './unknown-value.ts';

function evaluated(source: string, args: JsonObject = {}): ConditionResult {
  const condition = compileExpression(source);
  if (!('evaluate' in condition)) throw new Error(`${source}: ${condition.message}`);
  return condition.evaluate(conditionValues(args));
}

function problemOf(source: string) {
  const problem = compileExpression(source);
  if ('evaluate' in problem) throw new Error(`${source} compiles.`);
  return problem;
}

const numbers = (length: number) => Array.from({ length }, (_, index) => index);

describe('the values of a condition', () => {
  verifies('G3', 'reads caller, tool, kind, annotations, taint and time in a condition', () => {
    expect(evaluated('caller.id == "key:ci" && "user" in caller.roles')).toBe(true);
    expect(evaluated('tool.server == "files" && tool.destructive && tool.costPerCall < 1')).toBe(true);
    expect(evaluated('kind == "tool" && annotations.destructiveHint')).toBe(true);
    expect(evaluated('"private" in taint && !("untrusted" in taint)')).toBe(true);
    expect(evaluated('time.getHours() >= 22 || time.getDayOfWeek() == 0')).toBe(true);
  });

  verifies('G3', 'computes with the numbers of JSON', () => {
    for (const source of [
      'args.n + 1 == 3',
      '1 + args.n == 3.0',
      'args.n - 1 == 1',
      'args.n * 2 == 4',
      'args.n % 2 == 0',
    ]) {
      expect(evaluated(source, { n: 2 }), source).toBe(true);
    }
    expect(evaluated('args.n / 4 == 0.5 && args.n in [1, 2, 3] && args.n > 1', { n: 2 })).toBe(true);
    expect(evaluated('args.n % args.m == 1.0 && size(args.list) + args.n == 5', { n: 3, m: 2, list: [1, 2] })).toBe(
      true,
    );
  });

  verifies('G3', 'compares an integer over 2^53 exactly', () => {
    const args = parseExact('{"account": 9007199254740993, "list": [9007199254740993]}') as JsonObject;
    expect(evaluated('args.account == 9007199254740993 && 9007199254740993 in args.list', args)).toBe(true);
    expect(evaluated('args.account == 9007199254740992', args)).toBe(false);
  });

  verifies('G3', 'converts the numbers of large arguments once for all rules', () => {
    let walks = 0;
    const list = new Proxy([parseExact('9007199254740993')], {
      get(target, key, receiver) {
        if (key === 'length') walks++;
        return Reflect.get(target, key, receiver);
      },
    });
    const args = { list } as unknown as JsonObject;
    for (const other of [1, 2, 3]) expect(evaluated(`args.other == ${other}`, args)).not.toBe(true);
    const once = walks;
    expect(once).toBeGreaterThan(0);
    expect(evaluated('has(args.more)', args)).toBe(false);
    expect(walks).toBe(once);
  });

  verifies('G3', 'reads optional arguments without an error', () => {
    expect(evaluated('args.?path.orValue("") == ""')).toBe(true);
    expect(evaluated('has(args.path) && args.path == "x"')).toBe(false);
  });
});

describe('an invalid condition', () => {
  verifies('G3', 'reports an unknown variable, field or function with its place and the closest name', () => {
    expect(problemOf('caller.id == "x" && arg.n == 1')).toEqual({
      message: '`arg` is not a variable',
      fix: 'Did you mean `args`?',
      offset: 20,
    });
    expect(problemOf('caller.rols == []')).toMatchObject({ fix: 'Did you mean `roles`?', offset: 7 });
    expect(problemOf('caller.id.startWith("x")')).toMatchObject({ fix: 'Did you mean `startsWith`?' });
  });

  verifies('G3', 'checks the types when it is compiled', () => {
    expect(problemOf('caller.id == 3').message).toBe('no such overload: string == int');
    expect(problemOf('caller.id').message).toBe('it is of type string, not bool');
    expect(problemOf('tool.readOnly && kind').message).toContain('bool');
    expect(problemOf('args.n > ').message).toContain('unexpected token');
  });

  verifies('G3', 'rejects a pattern that RE2 does not have', () => {
    expect(problemOf('args.s.matches("(?=a)")').message).toContain('not one of RE2');
    expect(problemOf('args.s.matches("(a")')).toMatchObject({ offset: 15 });
  });

  verifies('G3', 'rejects three nested macros and an expression of 10,001 characters', () => {
    const nested = 'args.l.all(x, args.l.all(y, args.l.all(z, true)))';
    expect(problemOf(nested)).toMatchObject({ message: 'it nests macros over lists more than 2 deep', offset: 28 });
    expect(problemOf('args.l.map(x, args.l.map(y, args.l.map(z, z))).size() > 0').message).toContain('nests');
    expect(problemOf(`kind == "${'x'.repeat(10_000)}"`).message).toContain('longer than 10000');
    expect(problemOf(`${'('.repeat(500)}true${')'.repeat(500)}`).message).toBeTypeOf('string');
    expect(problemOf(Array.from({ length: 1500 }, () => 'true').join(' || ')).message).toBeTypeOf('string');
  });
});

describe('the limits of an evaluation', () => {
  const tooMany = { failure: 'it takes too many steps' };

  verifies('G3', 'stops a condition that takes too many steps, even where CEL ignores errors', () => {
    const list = numbers(1000);
    expect(evaluated('args.l.all(x, args.l.all(y, x + y >= 0))', { l: list })).toEqual(tooMany);
    expect(evaluated('args.l.all(x, !args.l.exists(y, y < 0)) || true', { l: list })).toEqual(tooMany);
    expect(evaluated('args.l.map(x, args.l.map(y, x)).size() == 0', { l: list })).toEqual(tooMany);
    const m = Object.fromEntries(list.map((at) => [`k${at}`, at]));
    expect(evaluated('args.l.exists(x, args.m.exists(k, true) && false)', { l: list, m })).toEqual(tooMany);
  });

  verifies('G3', 'counts the size of texts and lists that are copied or compared', () => {
    const grown = 'cel.bind(b, args.s + args.s, cel.bind(c, b + b, cel.bind(d, c + c, d.contains("x"))))';
    expect(evaluated(grown, { s: 'a'.repeat(5_000_000) })).toEqual(tooMany);
    const doubled = 'cel.bind(b, args.l + args.l, cel.bind(c, b + b, cel.bind(d, c + c, d.size() > 0)))';
    expect(evaluated(doubled, { l: numbers(60_000) })).toEqual(tooMany);
    expect(
      evaluated('args.l.all(x, args.m == args.n)', { l: numbers(1000), m: numbers(500), n: numbers(500) }),
    ).toEqual(tooMany);
  });

  verifies('G3', 'evaluates a pattern that backtracks in linear time', () => {
    expect(evaluated('args.s.matches("^(a+)+$")', { s: `${'a'.repeat(50)}!` })).toBe(false);
    expect(evaluated('args.s.matches(args.p)', { s: 'abc', p: 'b' })).toBe(true);
    expect(evaluated('args.s.matches("a")', { s: 'b'.repeat(1_000_000) })).toEqual(tooMany);
    expect(problemOf(`args.s.matches("${'.{0,1000}'.repeat(50)}")`).message).toContain('too large');
    expect(evaluated('args.s.matches("(a|b|c){100}d")', { s: 'abc'.repeat(10_000) })).toEqual(tooMany);
  });

  verifies('G3', 'counts the instructions that a pattern visits in an empty text', () => {
    const texts = Array.from({ length: 3_000 }, () => '');
    expect(evaluated('args.l.all(x, x.matches("^(a?){150}$"))', { l: texts })).toEqual(tooMany);
    expect(evaluated('args.l.all(x, x.matches("^[a-z]*$"))', { l: texts })).toBe(true);
  });

  verifies(
    'G3',
    'counts the cube of the length of a duration, and refuses one of more than 64 characters',
    async () => {
      const longer = 'args.l.exists(x, duration(x) > duration("1h"))';
      expect(evaluated(longer, { l: ['1s', '2h'] })).toBe(true);
      expect(evaluated(longer, { l: Array(400).fill('1s'.repeat(32)) })).toEqual(tooMany);
      expect(evaluated('duration(args.a) < duration("1h")', { a: '1s'.repeat(32) })).toBe(true);
      expect(evaluated('duration(args.a) < duration("1h")', { a: '1s'.repeat(33) })).toHaveProperty('failure');
      const slow = () => evaluated('duration(args.a) < duration("1s")', { a: '1'.repeat(300) });
      expect(await within(50, slow)).toHaveProperty('failure');
    },
  );

  verifies('G3', 'counts the characters of a text times those of a long part that is searched in it', () => {
    const args = { text: 'a'.repeat(200_000), part: `${'a'.repeat(100)}b${'a'.repeat(100)}` };
    for (const search of ['contains(args.part)', 'indexOf(args.part) > 0', 'lastIndexOf(args.part) > 0']) {
      expect(evaluated(`args.text.${search}`, args), search).toEqual(tooMany);
      expect(evaluated(`args.text.${search}`, { ...args, part: 'aab' }), search).toBe(false);
    }
    expect(evaluated('args.text.split(args.part).size() > 1', args)).toEqual(tooMany);
  });

  verifies('G3', 'counts each load of a time zone', () => {
    expect(evaluated('args.l.exists(x, time.getHours("UTC") != 22)', { l: numbers(4) })).toBe(false);
    expect(evaluated('args.l.exists(x, time.getHours("UTC") != 22)', { l: numbers(60) })).toEqual(tooMany);
  });

  verifies('G3', 'counts the compilation of patterns that arguments give', () => {
    const p = Array.from({ length: 20 }, (_, at) => `${at}(a|b){100}`);
    expect(evaluated('args.p.exists(x, args.s.matches(x))', { s: 'abc', p })).toEqual(tooMany);
  });

  verifies('G3', 'bounds the size of all patterns of a condition together', () => {
    const many = Array.from({ length: 20 }, (_, at) => `args.s.matches("${at}.{0,999}x")`).join(' || ');
    expect(problemOf(many).message).toContain('its patterns are too large');
  });

  verifies('G3', 'starts every evaluation with all its steps', () => {
    const half = 'args.l.all(x, x >= 0)';
    for (let round = 0; round < 20; round++) expect(evaluated(half, { l: numbers(5000) })).toBe(true);
  });
});

describe('an evaluation that fails', () => {
  verifies('G3', 'names the place in the rule and never a value of the call', () => {
    expect(evaluated('args.path == "x"')).toEqual({ failure: '`args.path` does not exist' });
    expect(evaluated('args[args.key] == 1', { key: 'hunter2' })).toEqual({
      failure: '`args[args.key]` does not exist',
    });
    for (const source of ['bool(args.s)', 'duration(args.s) > duration("1s")', 'time.getHours(args.s) > 1']) {
      expect(JSON.stringify(evaluated(source, { s: 'hunter2' })), source).not.toContain('hunter2');
    }
    expect(evaluated('args.s + 1 == 2', { s: 'hunter2' })).toEqual({
      failure: '`args.s + 1` cannot be computed: no such overload: string + int',
    });
  });

  verifies('G3', 'has no result if it depends on a value that was not recorded', () => {
    const args = { path: unknownValue, list: ['a', unknownValue] } as unknown as JsonObject;
    const unknown = { failure: 'it depends on a value that was not recorded', isUnknown: true };
    expect(evaluated('args.path == "x"', args)).toEqual(unknown);
    expect(evaluated('"b" in args.list', args)).toEqual(unknown);
    expect(evaluated('args.list.exists(x, x == "b")', args)).toEqual(unknown);
    expect(evaluated('args.list.exists(x, x == "a")', args)).toBe(true);
    expect(evaluated('args.path == "x" || kind == "tool"', args)).toBe(true);
    expect(evaluated('has(args.path)', args)).toBe(true);
  });
});

describe('the facts about a condition', () => {
  verifies('G3', 'lists its variables and finds an argument that is read without a test', () => {
    const unguardedAt = (source: string) => {
      const condition = compileExpression(source);
      return 'evaluate' in condition ? condition.unguardedAt : condition.message;
    };
    const condition = compileExpression('args.n > 1 && "private" in taint');
    expect('evaluate' in condition && [...condition.variables]).toEqual(['args', 'taint']);
    expect(unguardedAt('kind == "tool" && args.n > 1')).toBe(18);
    expect(unguardedAt('has(args.m) && args.n > 1')).toBe(15);
    expect(unguardedAt('args[caller.id] == 1')).toBe(0);
    for (const guarded of [
      'has(args.n) && args.n > 1',
      '"n" in args && args.n > 1',
      'args.?n.orValue(0) > 1',
      'size(args) > 3',
    ]) {
      expect(unguardedAt(guarded), guarded).toBeUndefined();
    }
  });
});
