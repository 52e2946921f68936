import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Mapping, PipelinePart, PipelineStep, StepBase, StepCondition, ToolUse } from '../definition/canonical.ts';
import { toolResult } from '../expressions/step-view.ts';
import { callTool, toInput } from './call-tool.ts';
import { evaluate, holds } from './frame/evaluate.ts';
import { type ExecutionParts, type Frame, frameBelow } from './frame/frame.ts';
import { type LazyValue, lazy, type StepDone, withValues } from './frame/step-scope.ts';
import { isCallRetryable, withRetry } from './frame/with-retry.ts';
import { pullItems, toItems } from './pull-items.ts';

/** Calls of one `enrich` at the same time. */
const ENRICH_CONCURRENCY = 5;

/** Runs parts in order. Each gets the result of the one before as `$prev`; the first gets the input of the run. */
export async function runPipeline(
  execution: ExecutionParts,
  frame: Frame,
  step: StepBase & PipelineStep,
): Promise<StepDone> {
  const outer = frame.scope.find('prev');
  let prev: LazyValue = outer && 'value' in outer ? outer.value : lazy(execution.input);
  for (const [place, part] of step.parts.entries()) {
    const scope = withValues(frame.scope, { prev });
    prev = await runPart(execution, { ...frame, scope }, { part, place, prev, step });
  }
  return { result: prev };
}

interface PipelineStage {
  readonly part: PipelinePart;
  readonly place: number;
  readonly prev: LazyValue;
  readonly step: StepBase & PipelineStep;
}

async function runPart(
  execution: ExecutionParts,
  frame: Frame,
  { part, place, prev, step }: PipelineStage,
): Promise<LazyValue> {
  if ('step' in part) {
    const last = await execution.runSteps([part.step], { ...frame, position: [...frame.position, place] });
    return last ? dataOf(execution, last) : prev;
  }
  if ('transform' in part) return lazy(await transform(execution, frame, { ...part, prev }));
  if ('filter' in part) return lazy(await filter(execution, frame, { condition: part.filter, prev }));
  return lazy(await enrich(execution, frameBelow(frame, { segment: `~${place}`, place }), { ...part, prev, step }));
}

/** Returns the value that later parts work on: of a call its structured content, not the classic result around it. */
const dataOf = ({ form }: ExecutionParts, { raw, result }: StepDone): LazyValue =>
  raw && form === 'classic' ? async () => toolResult((await raw()) as JsonObject) : result;

const withItem = (frame: Frame, item: Json, index: number) => withValues(frame.scope, { item, index });

async function transform(
  execution: ExecutionParts,
  frame: Frame,
  part: { readonly transform: Mapping; readonly each: boolean; readonly prev: LazyValue },
): Promise<Json> {
  if (!part.each) return evaluate(execution, frame.scope, part.transform);
  const items = toItems(await part.prev(), frame.path);
  const mapped: Json[] = [];
  for (const [index, item] of items.entries()) {
    mapped.push(await evaluate(execution, withItem(frame, item, index), part.transform));
  }
  return mapped;
}

async function filter(
  execution: ExecutionParts,
  frame: Frame,
  part: { readonly condition: StepCondition; readonly prev: LazyValue },
): Promise<Json> {
  const items = toItems(await part.prev(), frame.path);
  const kept: Json[] = [];
  for (const [index, item] of items.entries()) {
    if (await holds(execution, withItem(frame, item, index), part.condition)) kept.push(item);
  }
  return kept;
}

interface Enrichment {
  readonly enrich: ToolUse & { readonly as: string };
  readonly prev: LazyValue;
  readonly step: StepBase;
}

/** Calls a tool for each item of a list, or for one object, and adds its result to the item. */
async function enrich(execution: ExecutionParts, frame: Frame, { enrich: use, prev, step }: Enrichment): Promise<Json> {
  const value = await prev();
  const items = isObject(value) ? [value] : toItems(value, frame.path);
  const notObject = items.findIndex((item) => !isObject(item));
  if (notObject >= 0) {
    throw new HeddleError('EXPRESSION_FAILED', `The item ${notObject} of the step ${frame.path} is not an object.`, {
      fix: 'Make objects of the items with `transform` before `enrich`.',
    });
  }
  const ends = await pullItems(execution, frame, {
    items,
    maxConcurrency: ENRICH_CONCURRENCY,
    tolerated: 0,
    async run(item, index, signal) {
      const below = frameBelow(frame, { segment: `[${index}]`, place: index, signal });
      const input = toInput(await evaluate(execution, withItem(frame, item, index), use.input), below.path);
      const { value: done } = await withRetry(execution, below, {
        retry: step.retry,
        isRetryable: isCallRetryable,
        run: (attempt) => callTool(execution, below, { tool: use.tool, input, attempt, onInDoubt: 'ask' }),
      });
      return { ...(item as object), [use.as]: await dataOf(execution, done)() };
    },
  });
  const enriched = ends.flatMap((end): Json[] => ('value' in end ? [end.value] : []));
  return isObject(value) ? (enriched[0] ?? null) : enriched;
}
