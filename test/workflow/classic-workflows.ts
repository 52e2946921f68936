import fc from 'fast-check';
import type { ClassicStep, ClassicTool, ClassicWorkflow, PipelinePart, StepOrSteps } from './classic-form.ts';
import { type Choices, condition, type Known, mapping, type Scope, variables } from './classic-terms.ts';
import { TOOL_NAMES } from './fake-tools.ts';

type Make = (choices: Choices, id: string, scope: Scope) => ClassicStep;

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
  let scope: Scope = { depth: 1, isInLoop: false, isInBranch: false, isInPipeline: false, earlier: [], variables: [] };
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
  return { errorHandling: one(['stop', 'skip', 'fallback']), count, one, newId: () => `n-${ids++}`, later: [] };
}

function makeTool(choices: Choices, id: string, scope: Scope): ClassicTool {
  return {
    type: 'sequential',
    id,
    toolName: choices.one(TOOL_NAMES),
    inputMapping: mapping(choices, scope),
    ...variables(choices, id, scope, 'tool'),
    ...(choices.count(4) === 3 && { timeout: 60_000 }),
  };
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
      : branch(choices, inside, mergeStrategy === 'all' ? ANY_STEP : VALUED_STEP),
  );
  return {
    type: 'parallel',
    id,
    branches,
    mergeStrategy,
    ...variables(choices, id, scope),
    ...(choices.count(4) === 3 && { timeout: 60_000 }),
  };
}

// A branch without a result is no success for `first` and `majority`: the guide has the reason.
function branch(choices: Choices, scope: Scope, first: readonly Make[]): StepOrSteps {
  if (choices.count(2) === 0) return { toolName: choices.one(TOOL_NAMES), inputMapping: mapping(choices, scope) };
  return stepOrSteps(choices, scope, choices.one(first));
}

function makeConditional(choices: Choices, id: string, scope: Scope): ClassicStep {
  const inside = { ...scope, depth: scope.depth + 1 };
  const text = condition(choices, scope);
  const ifTrue = stepOrSteps(choices, inside, choices.one(ANY_STEP));
  const ifFalse = choices.count(2) === 1 && stepOrSteps(choices, inside, choices.one(ANY_STEP));
  return { type: 'conditional', id, condition: text, ifTrue, ...(ifFalse && { ifFalse }) };
}

function makeFanout(choices: Choices, id: string, scope: Scope): ClassicStep {
  const { earlier } = scope;
  const arrays = earlier.filter(({ kind }) => kind === 'array');
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
  return {
    ...step,
    ...(maxConcurrency > 0 && { maxConcurrency }),
    ...(mergeTool && { mergeTool }),
    ...variables(choices, id, scope),
  };
}

function makeLoop(choices: Choices, id: string, scope: Scope): ClassicStep {
  const inside = { ...scope, depth: scope.depth + 1, isInLoop: true };
  const maxIterations = 1 + choices.count(3);
  const text = condition(choices, inside);
  const body = stepOrSteps(choices, inside, choices.one(ANY_STEP));
  return { type: 'loop', id, condition: text, maxIterations, body, ...variables(choices, id, scope) };
}

const ITEM_CONDITIONS = ['$item', '$item.n', '$item.a == 1', '$index < 2', 'true', '$item.n > 0'];
const TRANSFORMS = ['$input.items', '$input.user', '$prev', '["a"]'];
const ITEM_MAPPINGS = [
  { n: '$index', was: '$item' },
  { n: '$item.n', tag: '$input.word' },
];
const PREV_MAPPINGS = [{ all: '$prev', none: '$prev.none' }];

function makePipeline(choices: Choices, id: string, scope: Scope): ClassicStep {
  const steps: PipelinePart[] = [choices.one([{ transform: choices.one(TRANSFORMS) }, { source: rows(choices) }])];
  let reached: Scope = { ...scope, depth: scope.depth + 1, isInPipeline: true };
  for (let left = choices.count(5); left > 0; left--) {
    const [part, after] = makePart(choices, reached);
    steps.push(part);
    reached = after;
  }
  return { type: 'pipeline', id, steps, ...variables(choices, id, scope) };
}

const rows = (choices: Choices) => ({ type: 'sequential', id: choices.newId(), toolName: 'rows' }) as const;

function makePart(choices: Choices, scope: Scope): readonly [PipelinePart, Scope] {
  const enrich = { toolName: choices.one(TOOL_NAMES), inputMapping: choices.one(ITEM_MAPPINGS), as: 'more' };
  const parts: readonly PipelinePart[] = [
    { filter: choices.one(ITEM_CONDITIONS) },
    { transform: choices.one(ITEM_MAPPINGS) },
    { transform: choices.one(PREV_MAPPINGS) },
    { enrich },
  ];
  const kind = choices.count(parts.length + 2);
  const chosen = parts[kind];
  if (chosen) return [chosen, scope];
  const make = scope.depth > 3 ? makeTool : choices.one(VALUED_STEP);
  const step = make(choices, choices.newId(), scope);
  return [kind === parts.length ? { sink: step } : step, after(step, scope)];
}

const VALUED_STEP: readonly Make[] = [makeTool, makeTool, makeParallel, makeFanout, makeLoop, makePipeline];
const ANY_STEP: readonly Make[] = [...VALUED_STEP, makeConditional, makeConditional];

function stepOrSteps(choices: Choices, scope: Scope, first: Make): StepOrSteps {
  const steps: ClassicStep[] = [];
  let reached = scope;
  for (let left = 1 + choices.count(3); left > 0; left--) {
    const make = steps.length === 0 ? first : choices.one(ANY_STEP);
    const step = (scope.depth > 3 ? makeTool : make)(choices, choices.newId(), reached);
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
  return { ...scope, variables: reached.variables, earlier: [...reached.earlier, { id: step.id ?? '', kind }] };
}

function kindOf(step: ClassicStep): Known['kind'] {
  if (step.type === 'parallel' || step.type === 'loop') return 'array';
  if (step.type === 'fanout') return step.mergeTool === undefined ? 'array' : 'other';
  return step.type === 'conditional' || step.type === 'pipeline' ? 'other' : 'tool';
}
