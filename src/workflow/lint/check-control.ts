import type { Mapping, ParallelStep, Step, StepCondition } from '../definition/canonical.ts';
import { stepsIn, toolUsesOf } from '../definition/steps-in.ts';
import { readsIn } from '../expressions/evaluate-mapping.ts';
import type { LintFinding } from './check-reads.ts';
import type { SchemaContext } from './result-schema.ts';

/** Finds steps that never run, races with side effects and loops that never end. */
export function checkControl(step: Step, context: SchemaContext): readonly LintFinding[] {
  const never =
    step.if && constantOf(step.if) === false
      ? [unreachable(`The step \`${step.id}\` never runs: its \`if\` is false.`)]
      : [];
  switch (step.kind) {
    case 'switch':
      return [...never, ...checkCases(step)];
    case 'parallel':
      return [...never, ...checkRace(step, context)];
    case 'loop':
      return [...never, ...checkLoop(step)];
    default:
      return never;
  }
}

const unreachable = (message: string): LintFinding => ({
  level: 'warning',
  code: 'STEP_UNREACHABLE',
  message,
  fix: 'Remove it, or correct the condition.',
});

/** Returns the value of a condition that is the same in every run. */
function constantOf(condition: StepCondition): boolean | undefined {
  if ('cel' in condition) {
    const source = condition.cel.trim();
    return source === 'true' ? true : source === 'false' ? false : undefined;
  }
  const mapping: Mapping = condition.truthy;
  return 'value' in mapping ? Boolean(mapping.value) : undefined;
}

function checkCases({ id, cases, else: otherwise }: Extract<Step, { kind: 'switch' }>): readonly LintFinding[] {
  const values = cases.map(({ when }) => constantOf(when));
  const always = values.indexOf(true);
  const found = values.flatMap((value, index) =>
    value === false || (always >= 0 && index > always)
      ? [unreachable(`Case ${index + 1} of \`${id}\` never runs.`)]
      : [],
  );
  const isElseDead = always >= 0 && otherwise !== undefined && otherwise.length > 0;
  return isElseDead ? [...found, unreachable(`The \`else\` of \`${id}\` never runs: a case is always true.`)] : found;
}

/** A branch that loses a race is cancelled, and its call may have had effects. */
function checkRace(step: Step & ParallelStep, { describe, form }: SchemaContext): readonly LintFinding[] {
  if ((step.mode !== 'first' && step.mode !== 'majority') || step.allowSideEffects) return [];
  const uses = step.branches.flatMap(({ steps }) => [...stepsIn(steps)].flatMap(toolUsesOf));
  const names = [...new Set(uses.map(({ tool }) => tool))];
  const acting = names.filter((name) => describe(name)?.facts.readOnly === false);
  if (acting.length === 0) return [];
  const isDestructive = acting.some((name) => describe(name)?.facts.destructive);
  const message = `The branches of \`${step.id}\` race, and a branch that loses may already have called ${acting.join(', ')}.`;
  const fix = 'Use read-only tools, `mode: all`, or set `allowSideEffects: true`.';
  return [
    { level: isDestructive && form === 'rich' ? 'error' : 'warning', code: 'RACE_WITH_SIDE_EFFECTS', message, fix },
  ];
}

/** Finds a loop whose condition cannot change: it reads nothing that its body changes. */
function checkLoop(step: Extract<Step, { kind: 'loop' }>): readonly LintFinding[] {
  const condition = 'while' in step.test ? step.test.while : step.test.until;
  const constant = constantOf(condition);
  if (constant === false && 'while' in step.test) return [unreachable(`The body of \`${step.id}\` never runs.`)];
  if (constant === true && 'until' in step.test) return [];
  const changing = new Set([
    'loop',
    'iteration',
    'loopResults',
    'var',
    ...[...stepsIn(step.steps)].map(({ id }) => id),
  ]);
  if (constant === undefined && readsIn(condition).some(({ name }) => changing.has(name))) return [];
  const message = `The condition of \`${step.id}\` does not depend on its body, so it runs ${step.maxIterations} times or not at all.`;
  const fix = 'Test the result of a step of the body, or the number of the iteration.';
  return [{ level: step.atMax === 'fail' ? 'error' : 'warning', code: 'LOOP_ENDLESS', message, fix }];
}
