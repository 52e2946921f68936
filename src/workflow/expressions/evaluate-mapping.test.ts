import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json } from '../../core/call.ts';
import type { HeddleError } from '../../core/errors.ts';
import { parseExact } from '../../core/exact-numbers.ts';
import type { Mapping, Reference } from '../definition/canonical.ts';
import { evaluateCondition, evaluateMapping, namesIn } from './evaluate-mapping.ts';
import { createScope } from './run-scope.ts';
import { classicResult, classicView, richView, toolResult } from './step-view.ts';

const scopeOf = (values: Readonly<Record<string, Json>>) => createScope(new Map(Object.entries(values)));
const ref = (name: string, ...parts: Reference['parts']): Mapping => ({
  ref: { name, parts, text: `$${[name, ...parts].join('.')}` },
});

function errorOf(
  mapping: Mapping,
  values: Readonly<Record<string, Json>>,
): Pick<HeddleError, 'code' | 'message' | 'fix'> {
  try {
    evaluateMapping(mapping, scopeOf(values));
  } catch (thrown) {
    const { code, message, fix } = thrown as HeddleError;
    return { code, message, fix };
  }
  throw new Error('The mapping has a value.');
}

const skipped = richView({ status: 'skipped', result: null, attempts: 0, startedAt: 1, endedAt: 1 });
const ok = (result: Json) => richView({ status: 'ok', result, attempts: 1, startedAt: 1, endedAt: 2 });

describe('a reference', () => {
  verifies('W2', 'gives the value itself, with its type', () => {
    const hits = [{ url: 'a' }, { url: 'b' }];
    const scope = scopeOf({ search: ok({ hits }), input: parseExact('{"id": 12345678901234567890}') });
    expect(evaluateMapping(ref('search', 'result', 'hits'), scope)).toBe(hits);
    expect(evaluateMapping(ref('search', 'result', 'hits', 1, 'url'), scope)).toBe('b');
    expect(evaluateMapping(ref('search', 'result', 'hits', '0'), scope)).toBe(hits[0]);
    expect(evaluateMapping(ref('search', 'result', 'hits', '*', 'url'), scope)).toEqual(['a', 'b']);
    expect(evaluateMapping(ref('steps', 'search', 'status'), scope)).toBe('ok');
    expect(JSON.stringify(evaluateMapping(ref('input', 'id'), scope))).toBe('12345678901234567890');
  });

  verifies('W2', 'names the step, the field and the nearest match if it is unresolved', () => {
    const values = { search: ok({ hits: [1] }), input: {} };
    expect(errorOf(ref('serch', 'result'), values)).toEqual({
      code: 'EXPRESSION_FAILED',
      message: '`$serch.result` has no value: no step or value `serch` is known here.',
      fix: 'Did you mean `$search`?',
    });
    expect(errorOf(ref('search', 'result', 'hit'), values)).toMatchObject({
      message: '`$search.result.hit` has no value: `$search.result` has no field `hit`.',
      fix: 'Did you mean `hits`?',
    });
    expect(errorOf(ref('search', 'result', 'hits', 3), values).message).toContain('has 1 items and no `3`');
    expect(errorOf(ref('search', 'status', '*'), values).message).toContain('is text, not a list');
    expect(errorOf(ref('search', 'status', 'x'), values).message).toContain('is text and has no field `x`');
    expect(errorOf(ref('search', 'result', 'constructor'), values).message).toContain('has no field `constructor`');
  });

  verifies('W2', 'names the field of the mapping that has no value', () => {
    const mapping: Mapping = { object: { list: { list: [{ value: 1 }, { object: { url: ref('input', 'x') } }] } } };
    expect(errorOf(mapping, { input: {} })).toMatchObject({
      message: 'In `list[1].url`: `$input.x` has no value: `$input` has no field `x`.',
      fix: 'It has no fields.',
    });
  });

  verifies('W2', 'to a skipped step is an error of its own, and is left out below `*`', () => {
    const values = { fetch: skipped, items: [{ sum: ok('a') }, { sum: skipped }, { sum: ok('b') }] };
    const expected = {
      message: '`$fetch.result.text` has no value: `$fetch` was skipped.',
      fix: "Test `$fetch.status == 'ok'` first, or read it with `.?` in an expression.",
    };
    expect(errorOf(ref('fetch', 'result', 'text'), values)).toMatchObject(expected);
    expect(errorOf({ cel: 'scope["fetch"].result.text' }, values).message).toContain('`$fetch` was skipped');
    expect(evaluateMapping({ cel: 'scope["fetch"].?result.?text.orValue("")' }, scopeOf(values))).toBe('');
    expect(evaluateMapping(ref('fetch', 'status'), scopeOf(values))).toBe('skipped');
    expect(evaluateMapping(ref('items', '*', 'sum', 'result'), scopeOf(values))).toEqual(['a', 'b']);
  });

  verifies('W2', 'gives results that look like a skipped step as they are', () => {
    const job = { status: 'skipped', result: null };
    const scope = scopeOf({ ci: ok({ job, jobs: [job] }) });
    expect(evaluateMapping(ref('ci', 'result', 'job'), scope)).toEqual(job);
    expect(evaluateMapping(ref('ci', 'result', 'jobs', '*', 'result'), scope)).toEqual([null]);
  });

  verifies('W2', 'finds inner names before outer ones', () => {
    const own = new Map<string, Json>([['item', 1]]);
    const scope = createScope(own, scopeOf({ item: 2, input: 3 }));
    expect([scope.get('item'), scope.get('input'), scope.get('none'), [...scope.names()]]).toEqual([
      1,
      3,
      undefined,
      ['item', 'input'],
    ]);
    own.set('input', null);
    expect(scope.get('input')).toBeNull();
  });
});

describe('an expression in a mapping', () => {
  verifies('W2', 'keeps its type alone, and becomes text in a template', () => {
    const scope = scopeOf({ input: { n: 2, list: [1, { a: true }], text: '${{ 1 + 1 }} $input' } });
    expect(evaluateMapping({ cel: 'scope["input"].n + 1' }, scope)).toBe(3);
    const template = [
      'n=',
      { cel: 'scope["input"].n' },
      ' ',
      { cel: 'scope["input"].list' },
      ' ',
      { cel: 'scope["input"].text' },
    ];
    expect(evaluateMapping({ template }, scope)).toBe('n=2 [1,{"a":true}] ${{ 1 + 1 }} $input');
  });

  verifies('W2', 'names the nearest match of a missing field', () => {
    expect(errorOf({ object: { q: { cel: 'scope["input"].querry + "x"' } } }, { input: { query: 'a' } })).toEqual({
      code: 'EXPRESSION_FAILED',
      message: 'In `q`: `$input.querry` has no value: `$input` has no field `querry`.',
      fix: 'Did you mean `query`?',
    });
  });

  verifies('W2', 'fails and names the field if a number would lose precision', () => {
    const input = parseExact('{"id": 9007199254740993}');
    expect(errorOf({ object: { id: { cel: 'scope["input"].id * 1.5' } } }, { input }).message).toBe(
      'In `id`: `$input.id * 1.5` has no value: it would round an integer over 2^53.',
    );
  });

  verifies('W2', 'fails at the cap of a template', () => {
    const template = [...Array(4)].map(() => ({ cel: 'scope["t"]' }));
    expect(errorOf({ template }, { t: 'x'.repeat(300_000) }).message).toContain('longer than 1048576');
  });

  verifies('W2', 'shares its limits with the other expressions of the mapping', () => {
    const list = (cel: string, count: number): Mapping => ({ list: [...Array(count)].map(() => ({ cel })) });
    expect(errorOf(list('scope["t"]', 9), { t: 'x'.repeat(1_000_000) }).message).toMatch(
      /^In `\[8\]`: .* is larger than/,
    );
    const loop = 'size(scope["l"].map(x, x + 1))';
    expect(errorOf(list(loop, 50), { l: [...Array(10_000).keys()] }).message).toContain('it takes too many steps');
  });

  verifies('W2', 'lists the names that it reads', () => {
    const mapping: Mapping = {
      object: {
        a: ref('x', 'y'),
        b: { list: [{ cel: 'scope["z"].n + scope["steps"].w.n' }, { value: '$no' }] },
        c: ref('steps', 'v'),
      },
    };
    expect([...namesIn(mapping)].sort()).toEqual(['v', 'w', 'x', 'z']);
    expect([...namesIn({ truthy: ref('t') })]).toEqual(['t']);
  });
});

verifies('W1', 'leaves out a field whose reference has no value in the classic form, and sets an item to null', () => {
  const scope = scopeOf({ input: { a: 1 }, skipped });
  const mapping: Mapping = {
    object: {
      ...{ a: ref('input', 'a'), b: ref('input', 'b'), c: ref('skipped', 'result'), d: ref('nowhere') },
      ...{ list: { list: [ref('input', 'a'), ref('input', 'b')] }, deep: { object: { e: ref('input', 'b') } } },
    },
  };
  expect(evaluateMapping(mapping, scope, 'classic')).toEqual({ a: 1, list: [1, null], deep: {} });
  expect(() => evaluateMapping(mapping, scope)).toThrow('In `b`: `$input.b` has no value');
});

describe('a condition', () => {
  verifies('W1', 'counts by JavaScript truthiness in the classic form', () => {
    for (const value of ['x', 1, [], {}, 'false']) {
      expect(evaluateCondition({ truthy: ref('v') }, scopeOf({ v: value as Json })), String(value)).toBe(true);
    }
    for (const value of ['', 0, false, null]) {
      expect(evaluateCondition({ truthy: ref('v') }, scopeOf({ v: value })), String(value)).toBe(false);
    }
  });

  verifies('W1', 'is false for a reference without a value in the classic form', () => {
    const scope = scopeOf({ input: { a: null, b: 1 }, skipped });
    for (const path of ['input.c', 'input.c.d', 'input.a.b', 'input.b.c', 'stepp', 'skipped', 'skipped.result.a']) {
      const [name = '', ...parts] = path.split('.');
      expect(evaluateCondition({ truthy: { ref: { name, parts, text: `$${path}` } } }, scope), path).toBe(false);
    }
    expect(() => evaluateMapping(ref('input', 'c'), scope)).toThrow('has no value');
  });

  verifies(
    'W1',
    'in CEL is false in the classic form if it reads a skipped step, and fails without any other value',
    () => {
      const scope = scopeOf({ skipped, input: {}, v: 2 });
      for (const cel of ['scope["skipped"].result.n > 1', '!scope["skipped"].result.ok']) {
        expect(evaluateCondition({ cel }, scope, 'classic'), cel).toBe(false);
        expect(() => evaluateCondition({ cel }, scope), cel).toThrow('has no value');
      }
      const other = { cel: 'scope["v"] > 1 || scope["skipped"].result.ok' };
      expect(evaluateCondition(other, scope, 'classic')).toBe(true);
      expect(() => evaluateCondition({ cel: 'scope["input"].n > 1' }, scope, 'classic')).toThrow('has no value');
    },
  );

  verifies('W2', 'is true or false, or fails', () => {
    expect(evaluateCondition({ cel: 'scope["v"] > 1' }, scopeOf({ v: 2 }))).toBe(true);
    expect(() => evaluateCondition({ cel: 'scope["v"]' }, scopeOf({ v: 2 }))).toThrow('`$v` is not true or false.');
  });
});

describe('the view of a step', () => {
  const raw = { content: [{ type: 'text', text: '{"content": "own", "n": 1}' }], isError: false };
  const call = { raw, server: 'files', latencyMs: 5 };

  verifies('W1', 'has the tool result, its fields and those of its content in the classic form', () => {
    const result = classicResult(raw, call);
    const view = classicView({
      status: 'ok',
      result,
      output: { url: 'u' },
      attempts: 1,
      startedAt: 1,
      endedAt: 2,
      call,
    });
    expect(view).toEqual({
      n: 1,
      url: 'u',
      result: { content: raw.content, isError: false, serverId: 'files', latencyMs: 5 },
      content: raw.content,
      isError: false,
      serverId: 'files',
      latencyMs: 5,
    });
  });

  verifies('W3', 'has the result, its state and named fields in the rich form', () => {
    const view = richView({
      status: 'ok',
      result: 1,
      output: { hits: [], result: 2 },
      attempts: 2,
      startedAt: 1,
      endedAt: 2,
      call,
    });
    expect(view).toEqual({ status: 'ok', result: 1, hits: [], attempts: 2, startedAt: 1, endedAt: 2, raw });
  });

  verifies('W3', 'takes structuredContent, else JSON in the text, else text and content', () => {
    expect(toolResult({ content: [], structuredContent: { a: 1 } })).toEqual({ a: 1 });
    expect(toolResult(raw)).toEqual({ content: 'own', n: 1 });
    const content = [
      { type: 'text', text: '42' },
      { type: 'image', data: '' },
      { type: 'text', text: 'b' },
    ];
    expect(toolResult({ content })).toEqual({ text: '42\nb', content });
    expect(JSON.stringify(toolResult({ content: [{ type: 'text', text: '[12345678901234567890]' }] }))).toBe(
      '[12345678901234567890]',
    );
  });
});

verifies('W2', 'passes on at most 16 MiB of values in one mapping, and names the reference that is too much', () => {
  const [text, texts] = ['x'.repeat(1024 * 1024), { inner: ['x'.repeat(512 * 1024), 'x'.repeat(512 * 1024)] }];
  for (const big of [text, texts]) {
    const many = (count: number): Mapping => ({ list: Array.from({ length: count }, () => ref('input', 'big')) });
    expect(evaluateMapping(many(15), scopeOf({ input: { big } }))).toHaveLength(15);
    expect(errorOf({ object: { docs: many(2000) } }, { input: { big } })).toEqual({
      code: 'EXPRESSION_FAILED',
      message: 'In `docs[15]`: With `$input.big` the values are larger than 16777216 characters together.',
      fix: 'Pass fewer values, or only the parts that the tool needs.',
    });
  }
});
