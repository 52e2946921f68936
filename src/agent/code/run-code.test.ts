import { setImmediate } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import type { CodeHost, CodeRequest } from '../../core/code.ts';
import { HeddleError } from '../../core/errors.ts';
import { parseExact } from '../../core/exact-numbers.ts';
import { runCode } from './run-code.ts';

const LIMITS = { wallMs: 5_000, memoryBytes: 16 * 1024 * 1024, calls: 25 };

interface Attempt extends Partial<CodeRequest> {
  readonly call?: CodeHost['call'];
  readonly onIdle?: CodeHost['onIdle'];
  readonly signal?: AbortSignal;
}

function run(source: string, { call, onIdle, signal, ...request }: Attempt = {}): Promise<Json> {
  return runCode(
    { source, input: null, tools: ['crm.find'], limits: LIMITS, seed: 1, now: 1_700_000_000_000, ...request },
    {
      call: call ?? (() => Promise.resolve(null)),
      onIdle: onIdle ?? (() => {}),
      signal: signal ?? new AbortController().signal,
    },
  );
}

const errorOf = async (source: string, attempt: Attempt = {}) => {
  const thrown = await run(source, attempt).then(
    (value) => ({ code: 'none', message: JSON.stringify(value) }),
    (error: HeddleError) => error,
  );
  return `${thrown.code}: ${thrown.message}`;
};

describe('code in the sandbox', () => {
  verifies('W3', 'gets the input, calls tools at once and returns JSON', async () => {
    const calls: unknown[] = [];
    const source = `const names: string[] = input.names;
      const found = await Promise.all(names.map((name) => tools.crm.find({ name })));
      return { found, nothing: undefined } as unknown;`;
    const result = await run(source, {
      input: { names: ['a', 'b'] },
      async call(index, tool, input: JsonObject) {
        calls.push([index, tool, input]);
        return { id: index };
      },
    });
    expect(result).toEqual({ found: [{ id: 0 }, { id: 1 }] });
    expect(calls).toEqual([
      [0, 'crm.find', { name: 'a' }],
      [1, 'crm.find', { name: 'b' }],
    ]);
  });

  verifies('W3', 'names the tools that it may call instead of one that does not exist', async () => {
    const tools = ['crm.find', 'crm.remove', 'post'];
    expect(await errorOf('await tools.crm.fnd({})', { tools })).toBe(
      'CODE_FAILED: The code failed at line 1: TypeError: there is no tool crm.fnd in `tools`; the code may call crm.find, crm.remove, post.',
    );
    expect(await errorOf('await tools.cmr.find({})', { tools: [] })).toContain('the code may call no tool');
    expect(await run('await tools; return JSON.stringify(tools.crm)', { tools })).toBe('{}');
  });

  verifies('W3', 'computes in four threads at most; code that waits for its calls needs none', async () => {
    const calls = Promise.withResolvers<null>();
    const computing = new Set<number>();
    let most = 0;
    let waiting = 0;
    const codes = Array.from({ length: 5 }, (_, at) =>
      run('return tools.crm.find({})', {
        onIdle(isIdle) {
          if (isIdle) computing.delete(at);
          else computing.add(at);
          if (waiting < 5) most = Math.max(most, computing.size);
        },
        call() {
          if (++waiting === 5) calls.resolve(null);
          return calls.promise;
        },
      }),
    );
    expect(await Promise.all(codes)).toEqual([null, null, null, null, null]);
    expect(most).toBeLessThanOrEqual(4);
  });

  verifies('W3', 'can be executed again with equal results: time and randomness are fixed', async () => {
    const source = `return [Math.random(), Math.random(), Date.now(), new Date().getTime(), new Date(5).getTime(),
      new Date(2020, 5, 1).toISOString(), new Date().constructor === Date, typeof performance]`;
    const first = await run(source);
    const other = (await run(source, { seed: 2 })) as Json[];
    expect(other.slice(2)).toEqual((first as Json[]).slice(2));
    expect(other[0]).not.toBe((first as Json[])[0]);
    expect((first as Json[])[0]).toBeCloseTo(0.6270739405881613);
    expect((first as Json[]).slice(2)).toEqual([
      1_700_000_000_000,
      1_700_000_000_000,
      5,
      '2020-06-01T00:00:00.000Z',
      true,
      'undefined',
    ]);
  });

  verifies('W3', 'names the line of an error', async () => {
    expect(await errorOf('const a: number = 1;\n\nnull.x')).toBe(
      "CODE_FAILED: The code failed at line 3: TypeError: cannot read property 'x' of null.",
    );
    expect(await errorOf('let a = 1;\nlet b: number = ;')).toBe(
      'CODE_FAILED: The code failed at line 2: SyntaxError: Expression expected.',
    );
    expect(await errorOf('throw "secret token=hunter2"')).toContain('token=[REDACTED]');
    expect(await errorOf('return () => 1')).toContain('the result is not JSON');
  });

  verifies('W3', 'can catch the error of a call, and ends with any other error of the host', async () => {
    const refused = new HeddleError('PERMISSION_DENIED', 'The call is not permitted.');
    const source = 'try { await tools.crm.find({}) } catch (error) { return [error.code, error.message] }';
    expect(await run(source, { call: () => Promise.reject(refused) })).toEqual(['PERMISSION_DENIED', refused.message]);
    const interrupted = new Error('The process has lost its lease.');
    await expect(run(source, { call: () => Promise.reject(interrupted) })).rejects.toBe(interrupted);
  });

  verifies('W3', 'reports when it waits for calls only', async () => {
    const changes: boolean[] = [];
    const { promise: isWaiting, resolve: waits } = Promise.withResolvers<void>();
    const onIdle = (isIdle: boolean) => {
      changes.push(isIdle);
      if (isIdle) waits();
    };
    await run('await tools.crm.find({}); return 1', { onIdle, call: () => isWaiting.then(() => null) });
    expect(changes.slice(0, 3)).toEqual([false, true, false]);
  });

  verifies('W2', 'sees numbers that JavaScript cannot hold as text, so that none is rounded', async () => {
    const input = parseExact('{"id": 9007199254740993}');
    expect(await run('return [input.id, await tools.crm.find({})]', { input, call: async () => input })).toEqual([
      '9007199254740993',
      { id: '9007199254740993' },
    ]);
  });
});

describe('hostile code', () => {
  verifies('W3', 'is ended at its limit of time while other work goes on', async () => {
    for (const source of [
      'await null; for (;;);',
      '/(a+)+$/.test("a".repeat(40) + "!")',
      'const f = async () => { await null; return f() }; await f()',
    ]) {
      let isOver = false;
      const ended = errorOf(source, { limits: { ...LIMITS, wallMs: 50 } }).finally(() => {
        isOver = true;
      });
      await setImmediate();
      expect(isOver).toBe(false);
      expect(await ended, source).toMatch(/CODE_LIMIT_EXCEEDED: The code (takes|needs)/);
    }
  });

  verifies('W3', 'is ended at its limit of memory', async () => {
    const large = async () => 'x'.repeat(10 * 1024 * 1024);
    expect(await errorOf('await tools.crm.find({})', { call: large })).toContain('bytes of memory');
    for (const source of [
      'const all = []; for (;;) all.push(new Array(1000).fill(all.length))',
      'const all = new Map(); for (;;) all.set({}, {})',
      'return new Uint8Array(1e9).length',
    ]) {
      expect(await errorOf(source), source).toBe(
        'CODE_LIMIT_EXCEEDED: The code needs more than 16777216 bytes of memory.',
      );
    }
  });

  verifies('W3', 'is ended if it nests too deeply for the interpreter', async () => {
    const source = 'return eval("(".repeat(1e5) + "1" + ")".repeat(1e5))';
    expect(await errorOf(source)).toBe('CODE_LIMIT_EXCEEDED: The code nests too deeply.');
  });

  verifies('W3', 'cannot return or pass more than 1 MiB', async () => {
    expect(await errorOf('return "x".repeat(2_000_000)')).toContain('result that is larger than 1 MiB');
    expect(await errorOf('await tools.crm.find({ a: "x".repeat(2_000_000) })')).toContain(
      'more than 1 MiB to one call',
    );
    const many = 'for (let n = 0; n < 25; n++) tools.crm.find({ a: "x".repeat(1_000_000) }); await tools.crm.find({})';
    expect(await errorOf(many, { limits: { ...LIMITS, memoryBytes: 2 ** 26 } })).toContain('16 MiB to all');
  });

  verifies('W3', 'makes no more calls than its limit, also if it catches errors', async () => {
    let made = 0;
    const source = 'for (let n = 0; n < 10_000; n++) tools.crm.find({ n }).catch(() => {}); return 1';
    const call = async () => ++made;
    expect(await errorOf(source, { call })).toBe('CODE_LIMIT_EXCEEDED: The code makes more than 25 calls.');
    expect(made).toBeLessThanOrEqual(25);
  });

  verifies('W3', 'fails if it waits for nothing', async () => {
    const message = 'CODE_FAILED: The code failed: the code waits for a promise that nothing can settle.';
    expect(await errorOf('await tools.crm.find({}); await new Promise(() => {})')).toBe(message);
  });

  verifies('W3', 'reaches nothing outside of the sandbox', async () => {
    const globals = [
      'process',
      'require',
      'fetch',
      'setTimeout',
      'WebAssembly',
      'module',
      'Buffer',
      'navigator',
      'console',
    ];
    expect(await run(`return ${JSON.stringify(globals)}.filter((name) => globalThis[name] !== undefined)`)).toEqual([]);
    const escapes = `const found = [];
      for (const value of [tools.crm.find, input, [], Date, (async () => {}), Math.random]) {
        const make = value.constructor.constructor ?? value.constructor;
        found.push(make('return typeof process + typeof require + typeof host')());
      }
      return found`;
    expect(new Set((await run(escapes, { input: {} })) as string[])).toEqual(new Set(['undefinedundefinedundefined']));
    expect(await errorOf('await import("node:fs")')).toContain('CODE_FAILED');
    expect(await errorOf('}); throw new Error("outside"); (async () => {')).toContain('outside');
  });

  verifies('W3', 'changes neither the host nor its own calls by its prototypes', async () => {
    const source = `Object.prototype.polluted = 1;
      JSON.stringify = () => '{"evil": 1}'; JSON.parse = () => 'evil';
      Array.prototype.toJSON = undefined; Promise.prototype.then = undefined;
      const answer = await tools.crm.find({ a: 1 });
      return { answer, "__proto__x": 1, ...{ ["__proto__"]: { polluted: 2 } } }`;
    const inputs: JsonObject[] = [];
    const call: CodeHost['call'] = async (_index, _tool, input) => {
      inputs.push(input);
      return 'real';
    };
    expect(await run(source, { call })).toMatchObject({ answer: 'real' });
    expect(inputs).toEqual([{ a: 1 }]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  verifies('W3', 'ends when it is aborted, also while it computes or waits', async () => {
    const computing = new AbortController();
    const ended = run('for (;;);', { signal: computing.signal });
    computing.abort(new Error('cancelled'));
    await expect(ended).rejects.toThrow('cancelled');
    const waiting = new AbortController();
    const call = () => new Promise<Json>(() => waiting.abort(new Error('too late')));
    await expect(run('await tools.crm.find({})', { call, signal: waiting.signal })).rejects.toThrow('too late');
  });
});
