import fc from 'fast-check';
import type { ClassicStep, ClassicTool, ClassicWorkflow, StepOrSteps } from './classic-form.ts';
import { SAFE_TOOLS, TOOL_NAMES } from './fake-tools.ts';

interface Known {
  readonly id: string;
  readonly kind: 'tool' | 'array' | 'other';
}

/** The names that a step may refer to. Other names depend on timing, or have a meaning that is not specified. */
interface Scope {
  readonly depth: number;
  readonly isInLoop: boolean;
  readonly isInBranch: boolean;
  readonly earlier: readonly Known[];
  readonly variables: readonly string[];
}

/** Answers every choice of one workflow from a list of numbers. After the last number each choice is the first option. */
interface Choices {
  readonly errorHandling: 'stop' | 'skip' | 'fallback';
  readonly count: (limit: number) => number;
  readonly one: <T>(options: readonly T[]) => T;
  readonly newId: () => string;
  /** Ids of top-level steps that have not started, and an id that no step has. */
  later: readonly string[];
}

type Make = (choices: Choices, id: string, scope: Scope) => ClassicStep;

const LITERALS = ['word', '5', 'true', 'null', '[1,"a"]', '{"a":{"b":2}}', '"5"', '', '05', '{a', ' 7 ', 'n: $input.n'];
const INPUTS = [
  'n',
  'flag',
  'word',
  'none',
  'items',
  'items.0',
  'items.7',
  'user.name',
  'user.tags.1',
  'absent',
  'n.x',
];
const PATHS = {
  tool: ['result', 'result.content', 'content', 'isError', 'serverId', 'content.0.text', 'content.2.text'].concat(
    ['isError', 'serverId', 'content.0', 'content.0.text', 'fallback', 'none'].map((path) => `result.${path}`),
  ),
  array: [
    'result',
    ...['0', '0.content', '1.content.0.text', '0.isError', '2', 'fallback'].map((path) => `result.${path}`),
  ],
  other: ['result', ...['content', 'content.0.text', 'isError', 'fallback', '0'].map((path) => `result.${path}`)],
} as const;
const LITERAL_CONDITIONS = ['true', 'false', '0', '1', 'null', '""', '"x"'];
const INPUT_TERMS = ['$input.n < 2', '$input.n >= 1', '$input.n != 2', '$input.flag', "$input.word == 'a'"].concat([
  '$input.none == null',
  '$input.flag == false',
  'size($input.items) > 1',
]);
const LOOP_TERMS = ['$var.iteration < 2', '$var.iteration != 1', 'size($var.loopResults) <= 1', '$var.iteration >= 0'];
const LOOP_VALUES = ['$var.iteration', '$var.loopResults', '$var.loopResults.0', '$var.loopResults.1.content'];

/** Random workflows with unique step ids, nested up to three deep. All call tools of `fakeTools`. */
export const classicWorkflow: fc.Arbitrary<ClassicWorkflow> = fc
  .array(fc.nat({ max: 999 }), { minLength: 40, maxLength: 200, size: 'max' })
  .map(buildWorkflow);

/** Inputs for the workflows. */
export const classicInput = fc.record({
  n: fc.nat({ max: 3 }),
  flag: fc.boolean(),
  word: fc.constantFrom('', 'a', '5', '$input.n'),
  none: fc.constant(null),
  items: fc.array(fc.constantFrom<unknown>(0, 'b', null, [1], { a: 1 }), { maxLength: 3 }),
  user: fc.record({ name: fc.constantFrom('Ada', ''), tags: fc.array(fc.constantFrom('p', 'q'), { maxLength: 2 }) }),
});

function buildWorkflow(numbers: readonly number[]): ClassicWorkflow {
  const choices = choicesOf(numbers);
  const ids = Array.from({ length: 1 + choices.count(5) }, (_, at) => `t${at}`);
  const steps: ClassicStep[] = [];
  let scope: Scope = { depth: 1, isInLoop: false, isInBranch: false, earlier: [], variables: [] };
  for (const [at, id] of ids.entries()) {
    choices.later = [...ids.slice(at + 1), 'missing'];
    const step = choices.one(ANY_STEP)(choices, id, scope);
    steps.push(step);
    scope = after(step, scope);
  }
  return { name: 'random', description: 'A random workflow.', steps, errorHandling: choices.errorHandling };
}

function choicesOf(numbers: readonly number[]): Choices {
  let at = 0;
  let ids = 0;
  const count = (limit: number) => (numbers[at++] ?? 0) % limit;
  const one = <T>(options: readonly T[]) => options[count(options.length)] as T;
  return { errorHandling: one(['stop', 'skip', 'fallback']), count, one, newId: () => `n${ids++}`, later: [] };
}

const makeTool = (choices: Choices, id: string, scope: Scope) => toolStep(choices, scope, { id, names: TOOL_NAMES });
const makeSafeTool = (choices: Choices, id: string, scope: Scope) =>
  toolStep(choices, scope, { id, names: SAFE_TOOLS });

function toolStep(
  choices: Choices,
  scope: Scope,
  { id, names }: { id: string; names: readonly string[] },
): ClassicTool {
  const setsVariables = choices.count(3) === 2;
  // The specification does not say whether a step with the fallback as its result sets its variables.
  const toolName = choices.one(setsVariables && choices.errorHandling === 'fallback' ? SAFE_TOOLS : names);
  return {
    type: 'sequential',
    id,
    toolName,
    inputMapping: mapping(choices, scope),
    ...(setsVariables && { outputMapping: outputMapping(choices, id, scope) }),
    ...(choices.count(4) === 3 && { timeout: 60_000 }),
  };
}

const mapping = (choices: Choices, scope: Scope) =>
  Object.fromEntries(['a', 'b', 'c'].slice(0, choices.count(4)).map((name) => [name, value(choices, scope)]));

function outputMapping(choices: Choices, id: string, scope: Scope): Record<string, string> {
  const found = choices.one([
    `$${id}.result`,
    `$${id}.result.content`,
    `$${id}.content`,
    `$${id}.isError`,
    '7',
    'text',
  ]);
  const own = `own_${id}`;
  // Branches run at the same time: each sets variables of its own.
  if (scope.isInBranch) return { [own]: found };
  // Only a new variable may have no value: the specification does not say whether an older value would remain.
  return { [choices.one(['x', 'y'])]: found, ...(!scope.isInLoop && { [own]: value(choices, scope) }) };
}

function value(choices: Choices, scope: Scope): string {
  return choices.count(4) === 0 ? choices.one(LITERALS) : reference(choices, scope);
}

function reference(choices: Choices, { earlier, variables, isInLoop }: Scope): string {
  const kinds = ['input', 'variable', 'later', ...(isInLoop ? ['loop'] : []), ...earlier.slice(0, 3).map(() => 'step')];
  switch (choices.one(kinds)) {
    case 'variable':
      return `$var.${choices.one([...variables, 'unset'])}`;
    case 'later':
      return `$${choices.one(choices.later)}.${choices.one(['result', 'result.content', 'result.0'])}`;
    case 'loop':
      return choices.one(LOOP_VALUES);
    case 'step': {
      const { id, kind } = choices.one(earlier);
      return `$${id}.${choices.one<string>(PATHS[kind])}`;
    }
    default:
      return `$input.${choices.one(INPUTS)}`;
  }
}

function condition(choices: Choices, scope: Scope): string {
  const term = () => choices.one(scope.isInLoop ? [...LOOP_TERMS, ...LOOP_TERMS, ...INPUT_TERMS] : INPUT_TERMS);
  const tools = scope.earlier.filter(({ kind }) => kind === 'tool');
  const options = [
    () => choices.one(LITERAL_CONDITIONS),
    () => reference(choices, scope),
    term,
    () => `!(${term()})`,
    () => `${term()} && ${term()}`,
    () => `${term()} || !(${term()})`,
    () => `(${term()} || ${term()}) && ${term()}`,
    // Alone, because a longer condition on a failed step is not specified.
    ...(tools.length > 0 ? [() => comparison(choices, tools), () => comparison(choices, tools)] : []),
  ];
  return choices.one(options)();
}

function comparison(choices: Choices, tools: readonly Known[]): string {
  const { id } = choices.one(tools);
  const sizes = [`size($${id}.content) > 1`, `size($${id}.result.content) == 1`];
  return choices.one([
    `$${id}.isError == false`,
    `$${id}.result.isError != true`,
    `$${id}.content.0.type == 'text'`,
    ...sizes,
  ]);
}

function makeParallel(choices: Choices, id: string, scope: Scope): ClassicStep {
  const inside = { ...scope, depth: scope.depth + 1, isInBranch: true };
  const mergeStrategy = choices.one(['all', 'first', 'majority'] as const);
  const count = 1 + choices.count(3);
  const winner = choices.count(count);
  // With `first` a second branch that can succeed would make the result a matter of time.
  const branches = Array.from({ length: count }, (_, at) =>
    mergeStrategy === 'first' && at !== winner
      ? { toolName: 'never', inputMapping: mapping(choices, inside) }
      : branch(choices, inside),
  );
  return { type: 'parallel', id, branches, mergeStrategy, ...(choices.count(4) === 3 && { timeout: 60_000 }) };
}

function branch(choices: Choices, scope: Scope): StepOrSteps {
  if (choices.count(2) === 0) return { toolName: choices.one(TOOL_NAMES), inputMapping: mapping(choices, scope) };
  return stepOrSteps(choices, scope, choices.one(VALUED_STEP));
}

function makeConditional(choices: Choices, id: string, scope: Scope): ClassicStep {
  const inside = { ...scope, depth: scope.depth + 1 };
  const text = condition(choices, scope);
  const ifTrue = stepOrSteps(choices, inside, choices.one(ANY_STEP));
  const ifFalse = choices.count(2) === 1 && stepOrSteps(choices, inside, choices.one(ANY_STEP));
  return { type: 'conditional', id, condition: text, ifTrue, ...(ifFalse && { ifFalse }) };
}

function makeFanout(choices: Choices, id: string, { earlier }: Scope): ClassicStep {
  // With `fallback` an earlier array may be an object, and the meaning of splitting an object is not specified.
  const arrays = earlier.filter(({ kind }) => kind === 'array' && choices.errorHandling !== 'fallback');
  const contents = earlier.filter(({ kind }) => kind === 'tool').map((one) => `$${one.id}.result.content`);
  const found = [...contents, ...arrays.map((one) => `$${one.id}.result`)];
  const splitExpression = choices.one([
    '$input.items',
    '$input.user.tags',
    ...found,
    ...found,
    '$input.absent',
    '$missing.result',
  ]);
  const step = { type: 'fanout', id, toolName: choices.one(TOOL_NAMES), splitExpression } as const;
  const mergeTool = choices.one([undefined, ...TOOL_NAMES]);
  const maxConcurrency = choices.count(4);
  return { ...step, ...(maxConcurrency > 0 && { maxConcurrency }), ...(mergeTool && { mergeTool }) };
}

function makeLoop(choices: Choices, id: string, scope: Scope): ClassicStep {
  const inside = { ...scope, depth: scope.depth + 1, isInLoop: true };
  const maxIterations = 1 + choices.count(3);
  const text = condition(choices, inside);
  // The specification does not say which element an iteration without a result adds.
  const first = choices.errorHandling === 'skip' && !scope.isInBranch ? makeSafeTool : choices.one(VALUED_STEP);
  return { type: 'loop', id, condition: text, maxIterations, body: stepOrSteps(choices, inside, first) };
}

const VALUED_STEP: readonly Make[] = [makeTool, makeTool, makeParallel, makeFanout, makeLoop];
const ANY_STEP: readonly Make[] = [...VALUED_STEP, makeConditional, makeConditional];

function stepOrSteps(choices: Choices, scope: Scope, first: Make): StepOrSteps {
  const steps: ClassicStep[] = [];
  let reached = scope;
  for (let left = 1 + choices.count(3); left > 0; left--) {
    const make = steps.length === 0 ? first : choices.one(ANY_STEP);
    const step = (scope.depth > 3 && make !== makeSafeTool ? makeTool : make)(choices, choices.newId(), reached);
    steps.push(step);
    reached = after(step, reached);
  }
  const [only] = steps;
  return only && steps.length === 1 && choices.count(2) === 0 ? only : steps;
}

/** Returns the scope of the steps that follow `step` in its list. */
function after(step: ClassicStep, scope: Scope): Scope {
  const kind = kindOf(step);
  const inner =
    step.type === 'conditional' ? [step.ifTrue, step.ifFalse ?? []] : step.type === 'loop' ? [step.body] : [];
  const set = 'outputMapping' in step ? Object.keys(step.outputMapping ?? {}) : [];
  const start: Scope = { ...scope, variables: [...new Set([...scope.variables, ...set])] };
  const reached = (inner.flat() as ClassicStep[]).reduce((known, one) => after(one, known), start);
  // A loop repeats its steps: it is not specified whether results of an earlier iteration remain.
  const isSettled = step.type === 'conditional' && !scope.isInLoop;
  return {
    ...scope,
    variables: reached.variables,
    earlier: [...(isSettled ? reached : scope).earlier, { id: step.id ?? '', kind }],
  };
}

function kindOf(step: ClassicStep): Known['kind'] {
  if (step.type === 'parallel' || step.type === 'loop') return 'array';
  if (step.type === 'fanout') return step.mergeTool === undefined ? 'array' : 'other';
  return step.type === 'conditional' ? 'other' : 'tool';
}
