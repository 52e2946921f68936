import { evaluateCel } from './cel-subset.ts';
import type {
  ClassicFanout,
  ClassicLoop,
  ClassicParallel,
  ClassicStep,
  ClassicWorkflow,
  StepOrSteps,
} from './classic-form.ts';

export interface ToolResult {
  readonly content: readonly unknown[];
  readonly isError?: boolean;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}
export type Args = Readonly<Record<string, unknown>>;
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

class StepFailure extends Error {}

/** The result of a step or of a list of steps; undefined when there is none. */
type Outcome = { readonly value: unknown } | undefined;
type Attempt = { readonly value: unknown } | { readonly failure: StepFailure };

interface Run {
  readonly input: unknown;
  readonly tools: Tools;
  readonly errorHandling: 'stop' | 'skip' | 'fallback';
  readonly steps: Map<string, { readonly value: unknown; readonly isTool: boolean }>;
  readonly skipped: Set<string>;
  readonly variables: Map<string, unknown>;
  readonly loopVariables: ReadonlyMap<string, unknown>;
  readonly logs: ClassicLog[];
  readonly calls: ClassicCall[];
}

/**
 * Evaluates a classic workflow as the specification says, without the product. Timeouts are not applied.
 * Rejects only when the evaluator itself is at fault.
 */
export async function evaluateClassic(workflow: ClassicWorkflow, input: unknown, tools: Tools): Promise<ClassicResult> {
  const state = { steps: new Map(), skipped: new Set<string>(), variables: new Map(), loopVariables: new Map() };
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
    if ('outputMapping' in step) setVariables(step.outputMapping ?? {}, run);
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

const resultOf = (attempt: Attempt) => ('value' in attempt ? attempt.value : undefined);

function keepCalls(inside: readonly Run[], run: Run, isOptional: (at: number) => boolean): void {
  for (const [at, { calls }] of inside.entries()) {
    run.calls.push(...calls.map((call) => ({ ...call, optional: call.optional || isOptional(at) })));
  }
}

const REFERENCE = /^\$[A-Za-z_]\w*(\.\w+)*$/;

/** Resolves each value. A reference that resolves to nothing leaves its argument out. */
function resolveMapping(mapping: Readonly<Record<string, string>>, run: Run): Args {
  const found = Object.entries(mapping).map(([name, text]) => ({ name, found: resolveValue(text, run) }));
  return Object.fromEntries(found.flatMap(({ name, found }) => (found ? [[name, found.value]] : [])));
}

function setVariables(mapping: Readonly<Record<string, string>>, run: Run): void {
  for (const [name, value] of Object.entries(resolveMapping(mapping, run))) run.variables.set(name, value);
}

/** Returns the value of a reference, of JSON text, or the text itself. */
function resolveValue(text: string, run: Run): Outcome {
  return REFERENCE.test(text) ? resolveReference(text, run) : (parseLiteral(text) ?? { value: text });
}

function parseLiteral(text: string): Outcome {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function resolveReference(text: string, run: Run): Outcome {
  const [root = '', ...path] = text.slice(1).split('.');
  if (root === 'input') return follow({ value: run.input }, path);
  const [name = '', ...rest] = path;
  if (root === 'var') {
    const owner = [run.loopVariables, run.variables].find((one) => one.has(name));
    return owner && follow({ value: owner.get(name) }, rest);
  }
  const step = run.steps.get(root);
  if (step && name === 'result') return follow(step, rest);
  const isPart = ['content', 'isError', 'serverId', 'latencyMs'].includes(name);
  return step?.isTool && isPart ? follow(step, path) : undefined;
}

function follow(from: { readonly value: unknown }, path: readonly string[]): Outcome {
  let value = from.value;
  for (const part of path) {
    const isKey = Array.isArray(value) ? /^\d+$/.test(part) : typeof value === 'object' && value !== null;
    if (!isKey || !Object.hasOwn(value as object, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return { value };
}

/** Decides a condition. A single reference or literal counts by truthiness, anything longer is CEL. */
function isTrue(text: string, run: Run): boolean {
  if (REFERENCE.test(text)) return Boolean(resolveReference(text, run)?.value);
  const literal = parseLiteral(text);
  if (literal) return Boolean(literal.value);
  const decided = evaluateCel(text, (reference) => resolveReference(reference, run));
  if (typeof decided === 'boolean') return decided;
  const roots = [...text.matchAll(/\$(\w+)/g)].map(([, root = '']) => root);
  if (roots.some((root) => run.skipped.has(root))) return false;
  throw new StepFailure(`The condition has no value: ${text}`);
}
