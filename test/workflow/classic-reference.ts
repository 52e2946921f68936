import type {
  ClassicFanout,
  ClassicLoop,
  ClassicParallel,
  ClassicPipeline,
  ClassicStep,
  ClassicWorkflow,
  Enrich,
  PipelinePart,
  StepOrSteps,
} from './classic-form.ts';
import {
  type Args,
  isTrue,
  type Outcome,
  parseLiteral,
  resolveMapping,
  resolveValue,
  StepFailure,
  type Values,
} from './classic-values.ts';

export interface ToolResult {
  readonly content: readonly unknown[];
  readonly isError?: boolean;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}
export type Tools = (toolName: string, args: Args) => Promise<ToolResult>;

export interface ClassicCall {
  readonly toolName: string;
  readonly args: Args;
  /** True when the specification permits not to make the call: another branch or item failed, or `first` was decided. */
  readonly optional: boolean;
}
export interface ClassicLog {
  readonly stepId: string;
  readonly type: 'start' | 'complete' | 'error' | 'skip';
}
export interface ClassicResult {
  readonly success: boolean;
  /** Null when no step has a result, and when the run fails. */
  readonly output: unknown;
  readonly error?: string;
  readonly logs: readonly ClassicLog[];
  /** In the order of the steps; calls of branches and items in the order of branches and items. */
  readonly calls: readonly ClassicCall[];
}

/** The `serverId` of every tool result. */
export const SERVER_ID = 'test';

type Attempt = { readonly value: unknown } | { readonly failure: StepFailure };

interface Run extends Values {
  readonly tools: Tools;
  readonly errorHandling: 'stop' | 'skip' | 'fallback';
  readonly logs: ClassicLog[];
  readonly calls: ClassicCall[];
}

/**
 * Evaluates a classic workflow as the specification says, without the product. Timeouts are not applied.
 * Rejects only when the evaluator itself is at fault.
 */
export async function evaluateClassic(workflow: ClassicWorkflow, input: unknown, tools: Tools): Promise<ClassicResult> {
  const state = {
    steps: new Map(),
    skipped: new Set<string>(),
    variables: new Map(),
    loopVariables: new Map(),
    locals: {},
  };
  const run: Run = { ...state, input, tools, errorHandling: workflow.errorHandling ?? 'stop', logs: [], calls: [] };
  const attempt = await attemptSteps(workflow.steps, run);
  const { logs, calls } = run;
  if ('failure' in attempt) return { success: false, output: null, error: attempt.failure.message, logs, calls };
  return { success: true, output: attempt.value, logs, calls };
}

async function attemptSteps(steps: StepOrSteps, run: Run): Promise<Attempt> {
  try {
    return { value: (await runSteps(steps, run))?.value ?? null };
  } catch (failure) {
    if (failure instanceof StepFailure) return { failure };
    throw failure;
  }
}

async function runSteps(steps: StepOrSteps, run: Run): Promise<Outcome> {
  let last: Outcome;
  for (const step of [steps].flat() as readonly ClassicStep[]) last = (await runStep(step, run)) ?? last;
  return last;
}

async function runStep(step: ClassicStep, run: Run): Promise<Outcome> {
  const id = step.id;
  const isTool = 'toolName' in step && step.type !== 'fanout';
  const log = (type: ClassicLog['type']) => void (id !== undefined && run.logs.push({ stepId: id, type }));
  const keep = (outcome: Outcome) => void (id !== undefined && outcome && run.steps.set(id, { ...outcome, isTool }));
  // A step of a loop runs again: only its latest execution counts.
  if (id !== undefined) run.steps.delete(id);
  if (id !== undefined) run.skipped.delete(id);
  log('start');
  try {
    const outcome = await execute(step, run);
    keep(outcome);
    setVariables(step.outputMapping ?? {}, run);
    log('complete');
    return outcome;
  } catch (failure) {
    if (!(failure instanceof StepFailure)) throw failure;
    log('error');
    if (run.errorHandling === 'stop') throw failure;
    if (run.errorHandling === 'fallback') {
      const outcome = { value: { fallback: true, error: failure.message } };
      keep(outcome);
      return outcome;
    }
    if (id !== undefined) run.skipped.add(id);
    log('skip');
    return undefined;
  }
}

function setVariables(mapping: Readonly<Record<string, string>>, run: Run): void {
  for (const [name, value] of Object.entries(resolveMapping(mapping, run))) run.variables.set(name, value);
}

async function execute(step: ClassicStep, run: Run): Promise<Outcome> {
  switch (step.type) {
    case 'parallel':
      return { value: await runParallel(step, run) };
    case 'conditional': {
      const chosen = isTrue(step.condition, run) ? step.ifTrue : step.ifFalse;
      return chosen && runSteps(chosen, run);
    }
    case 'fanout':
      return { value: await runFanout(step, run) };
    case 'loop':
      return { value: await runLoop(step, run) };
    case 'pipeline':
      return { value: await runPipeline(step, run) };
    default:
      return { value: await callTool(step.toolName, resolveMapping(step.inputMapping ?? {}, run), run) };
  }
}

async function callTool(toolName: string, args: Args, run: Run): Promise<Args> {
  run.calls.push({ toolName, args, optional: false });
  let result: ToolResult;
  try {
    result = await run.tools(toolName, args);
  } catch (cause) {
    throw new StepFailure(cause instanceof Error ? cause.message : String(cause));
  }
  if (result.isError === true) throw new StepFailure(`${toolName}: ${JSON.stringify(result.content)}`);
  return { ...result, isError: false, serverId: SERVER_ID, latencyMs: 0 };
}

/** Runs every branch to its end. A failure inside a branch fails the branch, whatever `errorHandling` is. */
async function runParallel({ branches, mergeStrategy }: ClassicParallel, run: Run): Promise<readonly unknown[]> {
  let winner: number | undefined;
  const inBranch = branches.map((): Run => ({ ...run, errorHandling: 'stop', calls: [] }));
  const runBranch = async (branch: StepOrSteps, at: number) => {
    const attempt = await attemptSteps(branch, inBranch[at] as Run);
    if ('value' in attempt) winner ??= at;
    return attempt;
  };
  const attempts = await Promise.all(branches.map(runBranch));
  const successes = attempts.flatMap((one) => ('value' in one ? [one.value] : []));
  const failed = attempts.find((one) => 'failure' in one);
  const isMerged = {
    all: failed === undefined,
    first: winner !== undefined,
    majority: successes.length > branches.length / 2,
  }[mergeStrategy];
  const isOptional = (at: number) =>
    mergeStrategy === 'first' ? winner !== undefined && at !== winner : failed !== undefined && !isMerged;
  keepCalls(inBranch, run, isOptional);
  if (!isMerged) throw failed?.failure ?? new StepFailure('There is no branch.');
  return mergeStrategy === 'first' ? attempts.flatMap((one, at) => (at === winner ? [resultOf(one)] : [])) : successes;
}

async function runFanout(step: ClassicFanout, run: Run): Promise<unknown> {
  const items = resolveValue(step.splitExpression, run)?.value;
  if (!Array.isArray(items)) throw new StepFailure(`${step.splitExpression} is not an array.`);
  const inItem = items.map((): Run => ({ ...run, calls: [] }));
  const attempts: Attempt[] = [];
  let next = 0;
  const work = async () => {
    for (let at = next++; at < items.length; at = next++) {
      const called = callTool(step.toolName, { item: items[at], index: at }, inItem[at] as Run);
      attempts[at] = await called.then(
        (value) => ({ value }),
        (failure: StepFailure) => ({ failure }),
      );
    }
  };
  await Promise.all(Array.from({ length: step.maxConcurrency ?? items.length }, work));
  const failed = attempts.find((one) => 'failure' in one);
  keepCalls(inItem, run, () => failed !== undefined);
  if (failed) throw failed.failure;
  const values = attempts.map(resultOf);
  if (step.mergeTool === undefined) return values;
  return callTool(step.mergeTool, { results: values.map((one) => (one as ToolResult).content) }, run);
}

async function runLoop({ condition, maxIterations, body }: ClassicLoop, run: Run): Promise<readonly unknown[]> {
  const loopResults: unknown[] = [];
  for (let iteration = 0; iteration < maxIterations; iteration++) {
    const loopVariables = new Map<string, unknown>(Object.entries({ iteration, loopResults: [...loopResults] }));
    const inside = { ...run, loopVariables };
    if (!isTrue(condition, inside)) break;
    loopResults.push((await runSteps(body, inside))?.value ?? null);
  }
  return loopResults;
}

async function runPipeline({ steps }: ClassicPipeline, run: Run): Promise<unknown> {
  let prev = 'prev' in run.locals ? run.locals.prev : run.input;
  for (const part of steps) prev = await runPart(part, { ...run, locals: { ...run.locals, prev } });
  return prev;
}

async function runPart(part: PipelinePart, run: Run): Promise<unknown> {
  const { prev } = run.locals;
  const withItem = (item: unknown, index: number) => ({ ...run, locals: { ...run.locals, item, index } });
  if ('transform' in part) {
    const { transform: text } = part;
    const transform = (inside: Run) =>
      typeof text === 'string' ? resolveValue(text, inside)?.value : resolveMapping(text, inside);
    if (!/\$item\b/.test(JSON.stringify(text))) return transform(run);
    return itemsOf(prev).map((item, index) => transform(withItem(item, index)));
  }
  if ('filter' in part) return itemsOf(prev).filter((item, index) => isTrue(part.filter, withItem(item, index)));
  if ('enrich' in part) return enrich(part.enrich, run);
  const outcome = await runStep('source' in part ? part.source : 'sink' in part ? part.sink : part, run);
  return outcome ? dataOf(outcome.value) : prev;
}

async function enrich({ toolName, inputMapping, as }: Enrich, run: Run): Promise<unknown> {
  const { prev } = run.locals;
  const items = Array.isArray(prev) ? prev : [prev];
  if (!items.every((item) => typeof item === 'object' && item !== null && !Array.isArray(item))) {
    throw new StepFailure('An item is not an object.');
  }
  const inItem = items.map((item, index): Run => ({ ...run, calls: [], locals: { ...run.locals, item, index } }));
  const attempts = await Promise.all(
    inItem.map(async (inside): Promise<Attempt> => {
      const result = await callTool(toolName, resolveMapping(inputMapping, inside), inside).catch(
        (failure: StepFailure) => failure,
      );
      return result instanceof StepFailure ? { failure: result } : { value: dataOf(result) };
    }),
  );
  const failed = attempts.find((one) => 'failure' in one);
  keepCalls(inItem, run, () => failed !== undefined);
  if (failed) throw failed.failure;
  const enriched = items.map((item, at) => ({ ...item, [as]: resultOf(attempts[at] as Attempt) }));
  return Array.isArray(prev) ? enriched : enriched[0];
}

function itemsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new StepFailure('The value is not an array.');
}

/** Returns what the later parts of a pipeline work on: of a tool result its data, any other value itself. */
function dataOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('latencyMs' in value)) return value;
  const { content, structuredContent } = value as unknown as ToolResult;
  const text = content.map((block) => (block as { readonly text: string }).text).join('\n');
  const parsed = parseLiteral(text)?.value;
  return structuredContent ?? (typeof parsed === 'object' && parsed !== null ? parsed : { text, content });
}

const resultOf = (attempt: Attempt) => ('value' in attempt ? attempt.value : undefined);

function keepCalls(inside: readonly Run[], run: Run, isOptional: (at: number) => boolean): void {
  for (const [at, { calls }] of inside.entries()) {
    run.calls.push(...calls.map((call) => ({ ...call, optional: call.optional || isOptional(at) })));
  }
}
