import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import type { ClassicStep, ClassicWorkflow } from './classic-form.ts';
import { evaluateClassic, SERVER_ID, type Tools } from './classic-reference.ts';
import type { Args } from './classic-values.ts';

const text = (value: string) => [{ type: 'text', text: value }];
const success = (value: string) => ({ content: text(value), isError: false, serverId: SERVER_ID, latencyMs: 0 });

/** `say` returns its `text`; `fail` has an error result; `throw` throws; `odd` fails for an odd `index`. */
const tools: Tools = async (toolName, args) => {
  if (toolName === 'throw') throw new Error('thrown');
  const isError = toolName === 'fail' || (toolName === 'odd' && Number(args.index) % 2 === 1);
  return { content: text(String(args.text ?? args.item ?? toolName)), ...(isError && { isError }) };
};
const tool = (id: string, toolName: string, inputMapping: Record<string, string> = {}) =>
  ({ type: 'sequential', id, toolName, inputMapping }) as const;
const say = (id: string, value: string) => tool(id, 'say', { text: value });
const fail = (id: string) => tool(id, 'fail');

function evaluate(
  steps: readonly ClassicStep[],
  errorHandling: ClassicWorkflow['errorHandling'] = 'stop',
  input: Args = {},
) {
  return evaluateClassic({ name: 'w', description: '', steps, errorHandling }, input, tools);
}
const argsOf = async (...given: Parameters<typeof evaluate>) =>
  (await evaluate(...given)).calls.map(({ args }) => args);

verifies('W1', 'the reference sets a variable by outputMapping', async () => {
  const one = { ...say('one', 'a'), outputMapping: { got: '$one.result.content.0.text', none: '$one.result.none' } };
  expect((await argsOf([one, say('two', '$var.got'), say('three', '$var.none')])).slice(1)).toEqual([
    { text: 'a' },
    {},
  ]);
});

verifies('W1', 'the reference resolves parts of a tool result on the step and on its result', async () => {
  const paths = ['isError', 'serverId', 'latencyMs', 'content.0.text'];
  const mapping = Object.fromEntries(
    paths.flatMap((path) => [`$one.${path}`, `$one.result.${path}`]).map((p) => [p, p]),
  );
  const [, args] = await argsOf([say('one', 'a'), tool('two', 'say', { ...mapping, all: '$one.result' })]);
  expect(args).toEqual({
    '$one.isError': false,
    '$one.result.isError': false,
    '$one.serverId': SERVER_ID,
    '$one.result.serverId': SERVER_ID,
    '$one.latencyMs': 0,
    '$one.result.latencyMs': 0,
    '$one.content.0.text': 'a',
    '$one.result.content.0.text': 'a',
    all: success('a'),
  });
});

verifies(
  'W1',
  'the reference gives tool results as elements of parallel and of a fan-out without mergeTool',
  async () => {
    const branches = [{ toolName: 'say', inputMapping: { text: 'a' } }, say('b', 'b'), [say('c', 'c'), say('d', 'd')]];
    const parallel = await evaluate([{ type: 'parallel', id: 'p', branches, mergeStrategy: 'all' }]);
    expect(parallel.output).toEqual([success('a'), success('b'), success('d')]);
    const fanout = {
      type: 'fanout',
      id: 'f',
      toolName: 'say',
      splitExpression: '$input.items',
      maxConcurrency: 1,
    } as const;
    const fanned = await evaluate([fanout], 'stop', { items: ['x', 'y'] });
    expect(fanned.output).toEqual([success('x'), success('y')]);
    expect(fanned.calls.map(({ args }) => args)).toEqual([
      { item: 'x', index: 0 },
      { item: 'y', index: 1 },
    ]);
    const merged = await evaluate([{ ...fanout, mergeTool: 'say' }], 'stop', { items: ['x'] });
    expect(merged.calls[1]?.args).toEqual({ results: [text('x')] });
    expect(merged.output).toEqual(success('say'));
  },
);

verifies('W1', 'the reference leaves out an argument without a value and reads literals as JSON or text', async () => {
  const literals = { a: '5', b: '[1]', c: 'five', d: '', e: 'n: $input.n', f: '"5"' };
  const inputMapping = {
    ...literals,
    g: '$input.n',
    h: '$input.none',
    i: '$later.result',
    j: '$input.none.x',
    k: '$input',
  };
  const [args] = await argsOf([tool('one', 'say', inputMapping), say('later', 'b')], 'stop', { n: 1, none: null });
  const read = { a: 5, b: [1], c: 'five', d: '', e: 'n: $input.n', f: '5' };
  expect(args).toEqual({ ...read, g: 1, h: null, k: { n: 1, none: null } });
});

verifies('W1', 'the reference runs ifFalse for a condition on a failed, skipped step, and logs the skip', async () => {
  for (const condition of ['$one.result', '$one.isError', '$one.result.isError == true', '$one.isError == false']) {
    const conditional = {
      type: 'conditional',
      id: 'c',
      condition,
      ifTrue: say('t', 't'),
      ifFalse: say('f', 'f'),
    } as const;
    const { success: hasSucceeded, output, logs } = await evaluate([fail('one'), conditional], 'skip');
    expect({ hasSucceeded, output }).toEqual({ hasSucceeded: true, output: success('f') });
    expect(logs.filter(({ type }) => type === 'skip')).toEqual([{ stepId: 'one', type: 'skip' }]);
  }
});

verifies('W1', 'the reference gives the fallback for a parallel step with a failed branch', async () => {
  const branches = [{ toolName: 'say' }, { toolName: 'throw' }];
  const {
    success: hasSucceeded,
    output,
    calls,
  } = await evaluate([{ type: 'parallel', id: 'p', branches, mergeStrategy: 'all' }], 'fallback');
  expect({ hasSucceeded, output }).toEqual({ hasSucceeded: true, output: { fallback: true, error: 'thrown' } });
  expect(calls.map(({ optional }) => optional)).toEqual([true, true]);
});

verifies('W1', 'the reference skips a fan-out with a failed item and does not call the merge tool', async () => {
  const fanout = {
    type: 'fanout',
    id: 'f',
    toolName: 'odd',
    splitExpression: '$input.items',
    mergeTool: 'say',
  } as const;
  const { output, logs, calls } = await evaluate([say('one', 'a'), fanout], 'skip', { items: ['x', 'y'] });
  expect(output).toEqual(success('a'));
  expect(logs.at(-1)).toEqual({ stepId: 'f', type: 'skip' });
  expect(calls.slice(1).map(({ toolName }) => toolName)).toEqual(['odd', 'odd']);
});

verifies('W1', 'the reference keeps the output of the step before a conditional that runs nothing', async () => {
  const nothing = { type: 'conditional', id: 'c', condition: 'false', ifTrue: say('t', 't') } as const;
  expect((await evaluate([say('one', 'a'), nothing])).output).toEqual(success('a'));
  expect((await evaluate([nothing])).output).toBeNull();
});

verifies('W1', 'the reference merges the first success, or the successes of a majority', async () => {
  const [good, bad] = [{ toolName: 'say' }, { toolName: 'fail' }];
  const merge = (mergeStrategy: 'first' | 'majority', ...branches: { toolName: string }[]) =>
    evaluate([{ type: 'parallel', id: 'p', branches, mergeStrategy }]);
  expect((await merge('first', bad, good)).output).toEqual([success('say')]);
  expect((await merge('first', bad, bad)).success).toBe(false);
  expect((await merge('majority', good, bad, good)).output).toEqual([success('say'), success('say')]);
  expect((await merge('majority', good, bad)).success).toBe(false);
});

verifies('W1', 'the reference tests a loop first and ends it quietly at maxIterations', async () => {
  const loop = (condition: string, maxIterations = 3) =>
    ({ type: 'loop', id: 'l', condition, maxIterations, body: [say('b', '$var.iteration')] }) as const;
  expect((await evaluate([loop('false')])).output).toEqual([]);
  expect((await evaluate([loop('true')])).output).toEqual([success('0'), success('1'), success('2')]);
  expect((await evaluate([loop('$var.iteration < 1')])).output).toEqual([success('0')]);
  expect((await evaluate([loop('!(size($var.loopResults) >= 2) && true')])).output).toHaveLength(2);
});

verifies(
  'W1',
  'the reference counts a single reference or literal by truthiness and fails other conditions',
  async () => {
    const choose = async (condition: string) => {
      const step = { type: 'conditional', id: 'c', condition, ifTrue: say('t', 't'), ifFalse: say('f', 'f') } as const;
      const { calls } = await evaluate([step], 'stop', { zero: 0, word: 'x', list: [] });
      return calls[0]?.args.text;
    };
    for (const truthy of ['1', '"x"', '$input.word', '$input.list', "$input.word == 'x'", '$input.zero < 1']) {
      expect(await choose(truthy), truthy).toBe('t');
    }
    for (const falsy of ['0', 'null', '""', '$input.zero', '$input.none', '$none.result', '$input.zero != 0.0']) {
      expect(await choose(falsy), falsy).toBe('f');
    }
    for (const failing of ['$input.none == 1', '!$input.word', '$input.word < 1']) {
      expect(await choose(failing), failing).toBeUndefined();
    }
  },
);

verifies('W1', 'the reference stops at a failed step', async () => {
  const { success: hasSucceeded, error, calls } = await evaluate([tool('one', 'throw'), say('two', 'b')]);
  expect({ hasSucceeded, error, calls: calls.length }).toEqual({ hasSucceeded: false, error: 'thrown', calls: 1 });
});
