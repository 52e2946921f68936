import type { RunEstimate } from '../../core/records/workflow.ts';
import type { Step, ToolUse, Workflow } from '../definition/canonical.ts';
import type { DescribeTool } from './result-schema.ts';

/** The least and the most calls and their cost. Infinity depends on the input. */
interface Range {
  readonly min: number;
  readonly max: number;
  readonly minCost: number;
  readonly maxCost: number;
}

const NONE: Range = { min: 0, max: 0, minCost: 0, maxCost: 0 };
/** The range of a workflow that is not known, or calls itself. */
const ANY_NUMBER: Range = { min: 0, max: Number.POSITIVE_INFINITY, minCost: 0, maxCost: 0 };

/** Finds what a definition names, for an estimate. */
export interface EstimateContext {
  readonly describe: DescribeTool;
  /** Returns a workflow by its name. */
  readonly workflow?: (name: string) => Workflow | undefined;
}

interface Estimating extends EstimateContext {
  /** The ranges of workflows by name, each computed once: those that call one another often would take exponential time. */
  readonly known: Map<string, Range>;
}

/** Estimates the calls of a run, and their cost if a tool has one. */
export function estimateRun(workflow: Workflow, context: EstimateContext): RunEstimate {
  const { min, max, minCost, maxCost } = ofSteps(workflow.steps, {
    ...context,
    known: new Map([[workflow.name, ANY_NUMBER]]),
  });
  const hasCost = minCost > 0 || maxCost > 0;
  return {
    minCalls: min,
    ...(Number.isFinite(max) && { maxCalls: max }),
    ...(hasCost && { minCost }),
    ...(hasCost && Number.isFinite(maxCost) && { maxCost }),
  };
}

const add = (a: Range, b: Range): Range => ({
  min: a.min + b.min,
  max: a.max + b.max,
  minCost: a.minCost + b.minCost,
  maxCost: a.maxCost + b.maxCost,
});

/** Repeats a range at least `least` and at most `most` times. */
const times = (range: Range, least: number, most: number): Range => ({
  min: range.min * least,
  max: range.max === 0 ? 0 : range.max * most,
  minCost: range.minCost * least,
  maxCost: range.maxCost === 0 ? 0 : range.maxCost * most,
});

const optional = (range: Range): Range => times(range, 0, 1);

/** Returns the range of one of several. */
const oneOf = (ranges: readonly Range[]): Range => ({
  min: Math.min(...ranges.map(({ min }) => min)),
  max: Math.max(...ranges.map(({ max }) => max)),
  minCost: Math.min(...ranges.map(({ minCost }) => minCost)),
  maxCost: Math.max(...ranges.map(({ maxCost }) => maxCost)),
});

const ofSteps = (steps: readonly Step[], context: Estimating): Range =>
  steps.reduce((sum, step) => add(sum, ofStep(step, context)), NONE);

function ofStep(step: Step, context: Estimating): Range {
  const own = times(inside(step, context), 1, 1 + (step.retry?.max ?? 0));
  const fallback = step.fallback && 'kind' in step.fallback ? optional(ofStep(step.fallback, context)) : NONE;
  const compensation = step.compensate ? optional(ofUse(step.compensate, context)) : NONE;
  const all = add(add(own, fallback), compensation);
  return step.if ? optional(all) : all;
}

function ofUse({ tool }: ToolUse, { describe }: Estimating): Range {
  const cost = describe(tool)?.facts.costPerCall ?? 0;
  return { min: 1, max: 1, minCost: cost, maxCost: cost };
}

function inside(step: Step, context: Estimating): Range {
  switch (step.kind) {
    case 'tool':
      return ofUse(step, context);
    case 'sequential':
      return ofSteps(step.steps, context);
    case 'pipeline':
      return step.parts.map((part) => ofPart(part, context)).reduce(add, NONE);
    case 'parallel':
      return ofParallel(step, context);
    case 'switch':
      return oneOf([...step.cases.map(({ steps }) => steps), step.else ?? []].map((steps) => ofSteps(steps, context)));
    case 'fanout':
      return ofFanout(step, context);
    case 'loop':
      return times(ofSteps(step.steps, context), 'until' in step.test ? 1 : 0, step.maxIterations);
    case 'workflow':
      return ofWorkflow(step.workflow, context);
    case 'code':
      return step.tools.length === 0 ? NONE : ofCode(step, context);
    default:
      return NONE;
  }
}

type PartOf<K extends Step['kind']> = Extract<Step, { readonly kind: K }>;

function ofPart(part: PartOf<'pipeline'>['parts'][number], context: Estimating): Range {
  if ('step' in part) return ofStep(part.step, context);
  return 'enrich' in part ? times(ofUse(part.enrich, context), 0, Number.POSITIVE_INFINITY) : NONE;
}

function ofParallel({ branches, mode }: PartOf<'parallel'>, context: Estimating): Range {
  const ranges = branches.map(({ steps }) => ofSteps(steps, context));
  const all = ranges.reduce(add, NONE);
  if (mode === 'all' || mode === 'most' || ranges.length === 0) return all;
  const { min, minCost } = oneOf(ranges);
  return { ...all, min, minCost };
}

function ofFanout({ items, steps, merge }: PartOf<'fanout'>, context: Estimating): Range {
  const count =
    'list' in items
      ? items.list.length
      : 'value' in items && Array.isArray(items.value)
        ? items.value.length
        : undefined;
  const body = times(ofSteps(steps, context), count ?? 0, count ?? Number.POSITIVE_INFINITY);
  return merge ? add(body, ofUse(merge, context)) : body;
}

function ofWorkflow(name: string, context: Estimating): Range {
  const before = context.known.get(name);
  if (before) return before;
  context.known.set(name, ANY_NUMBER); // While it is computed: a cycle.
  const found = context.workflow?.(name);
  const range = found ? ofSteps(found.steps, context) : ANY_NUMBER;
  context.known.set(name, range);
  return range;
}

function ofCode({ tools, limits }: PartOf<'code'>, context: Estimating): Range {
  return times(oneOf(tools.map((tool) => ofUse({ tool, input: { object: {} } }, context))), 0, limits.calls);
}
